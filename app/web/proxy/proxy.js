(() => {
  // The proxy between the page and one view. It passes messages on between the
  // two, if they come from the very window and origin, and drops what is too
  // large or comes too fast, so that the page never has to read it.
  const { host, view, allow } = document.documentElement.dataset;
  const prefix = 'ui/notifications/sandbox-';
  const most = 4 << 20, burst = 200, perSecond = 100;
  let frame = null, tokens = burst, last = performance.now(), dropped = 0;
  const say = (method, params) => parent.postMessage({ jsonrpc: '2.0', method: prefix + method, params }, host);
  const show = () => {
    if (frame) return;
    frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms');
    frame.setAttribute('allow', allow);
    frame.title = 'View';
    frame.src = view + '/';
    document.body.append(frame);
  };
  const drop = (why) => {
    dropped++;
    if (dropped === 1 || dropped % 1000 === 0) say('dropped', { why, count: dropped });
  };
  const fits = () => {
    const now = performance.now();
    tokens = Math.min(burst, tokens + (now - last) / 1000 * perSecond);
    last = now;
    if (tokens < 1) return false;
    tokens--;
    return true;
  };
  addEventListener('message', (e) => {
    const m = e.data;
    const own = typeof m?.method === 'string' && m.method.startsWith(prefix);
    if (e.source === parent && e.origin === host) {
      if (own) { if (m.method === prefix + 'resource-ready') show(); return; }
      frame?.contentWindow.postMessage(m, view);
      return;
    }
    if (!frame || e.source !== frame.contentWindow || e.origin !== view) return;
    if (!fits()) { drop('rate'); return; }
    if (m === null || typeof m !== 'object' || Array.isArray(m) || own || e.ports.length) { drop('form'); return; }
    let text = '';
    try { text = JSON.stringify(m); } catch { /* not JSON */ }
    if (!text || text.length > most) { drop(text ? 'size' : 'form'); return; }
    parent.postMessage(JSON.parse(text), host);
  });
  say('proxy-ready', {});
})();
