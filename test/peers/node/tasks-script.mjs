// The steps that the JavaScript clients of tasks run, one JSON line for each.

import { step } from './script.mjs';

// runTasks runs every step. peer has:
//   connect()      -> { revision, server }
//   run(tool)      -> { statuses, result } of a task that is waited for; throws if it fails
//   cancel(tool)   -> starts a task, cancels it and returns its last status
//   list()         -> how many tasks are listed; undefined if there is no list
//   close()
export async function runTasks(peer) {
  await step('connect', () => peer.connect());
  const text = result => ({ text: result.content[0].text, isError: Boolean(result.isError) });
  await step('completes', async () => text((await peer.run('task-completes')).result));
  await step('is-error', async () => {
    const { result } = await peer.run('task-is-error');
    return { isError: Boolean(result.isError), says: JSON.stringify(result.content).includes('out of paper') };
  });
  await step('fails', async () => {
    await peer.run('task-fails').catch(error => {
      throw new Error(`${error?.message} ${error?.error?.message ?? ''} ${JSON.stringify(error?.cause ?? null)}`);
    });
    return 'a result';
  });
  await step('asks', async () => text((await peer.run('task-asks')).result));
  await step('cancel', () => peer.cancel('task-works'));
  await step('list', async () => (await peer.list?.()) ?? null);
  await step('close', async () => {
    await peer.close();
  });
}
