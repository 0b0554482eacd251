// A slider and a field that show the same number.

/** Ties a slider to a field; the user may change either. A slider that grows extends its range to the value of the
    field. */
export function tie(field, slider, { logarithmic = false, grows = false } = {}) {
  const toSlider = logarithmic ? (value) => Math.log10(value) : (value) => value;
  const fromSlider = logarithmic ? (value) => Number((10 ** value).toPrecision(2)) : (value) => value;
  if (logarithmic) {
    const [low, high] = [Math.log10(slider.min), Math.log10(slider.max)];
    Object.assign(slider, { min: low, max: high, step: (high - low) / 200 });
  }
  const follow = () => {
    if (grows) slider.max = Math.max(slider.max, field.value);
    slider.value = toSlider(Number(field.value));
    speak();
  };
  const speak = () => slider.setAttribute("aria-valuetext", field.value);
  field.addEventListener("input", follow);
  slider.addEventListener("input", () => {
    field.value = fromSlider(Number(slider.value));
    speak();
  });
  follow();
  return {
    get value() {
      return field.value === "" ? null : Number(field.value);
    },
    set value(value) {
      field.value = value;
      follow();
    },
    range(low, high, step) {
      Object.assign(slider, { min: low, max: high, step });
      Object.assign(field, { min: low, max: high });
      follow();
    },
  };
}
