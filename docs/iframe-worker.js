// Search without a server. Browsers refuse Web Workers on pages opened from disk (file:), and the theme's search runs in
// one. There, this replaces Worker by a class that runs the script in a hidden frame; elsewhere it does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => {
        const start = () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = inside.document.createElement("script");
          script.src = new URL(url, location.href).href;
          script.onload = () => resolve(inside);
          inside.document.head.append(script);
        };
        const attach = () => {
          document.body.append(this.frame);
          start();
        };
        document.body ? attach() : addEventListener("DOMContentLoaded", attach);
      });
    }

    async postMessage(data) {
      (await this.ready).dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
