// The texts of a page that are too pale, by WCAG 2 AA: below 4.5, or below 3 for large letters.
() => {
  const parse = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha };
  };
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, alpha } = parse(getComputedStyle(at).backgroundColor);
      if (alpha > 0.5) return rgb;
    }
    return [255, 255, 255];
  };
  const pale = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const disabled = element.closest(":disabled, [aria-disabled=true], noscript, .sr, option, script");
    if (!texts.currentNode.data.trim() || !element.checkVisibility() || disabled) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    if (ink.alpha < 0.1) continue;
    const [low, high] = [luminance(ink.rgb), luminance(behind(element))].sort((one, other) => one - other);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (large ? 3 : 4.5)) pale.push(`${contrast.toFixed(2)}: ${texts.currentNode.data.trim()}`);
  }
  return pale;
}
