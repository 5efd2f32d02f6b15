// What the two JavaScript servers share: parts that do not touch an SDK.

export const text = s => ({ content: [{ type: 'text', text: s }] });

export const startsWith = value => ['Ada', 'Alan', 'Grace'].filter(name => name.startsWith(value ?? ''));

// sleep ends early, with an error and a line on stderr, when the call is
// cancelled.
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      process.stderr.write('slow: cancelled\n');
      reject(new Error('cancelled'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
