// Asks fake providers with the vendors' SDKs. Each line of standard input is a job:
// {api, baseURL, key, request}. The SDK sends the request as it is, and a line of
// standard output says what the SDK understood.
import { createInterface } from 'node:readline';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

async function messages({ baseURL, key, request }, out) {
  const client = new Anthropic({ baseURL, apiKey: key, maxRetries: 0 });
  delete request.stream;
  const m = await client.messages.stream(request).finalMessage();
  for (const b of m.content) {
    if (b.type === 'text') out.text += b.text;
    if (b.type === 'thinking') out.thinking += b.thinking;
    if (b.type === 'tool_use') out.calls.push({ id: b.id, name: b.name, arguments: b.input });
  }
  out.stop = m.stop_reason;
  out.input = m.usage.input_tokens + (m.usage.cache_read_input_tokens ?? 0) + (m.usage.cache_creation_input_tokens ?? 0);
  out.output = m.usage.output_tokens;
}

async function chat({ baseURL, key, request }, out) {
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  delete request.stream;
  const stream = client.chat.completions.stream(request);
  stream.on('chunk', (c) => { out.thinking += c.choices[0]?.delta?.reasoning_content ?? ''; });
  const c = await stream.finalChatCompletion();
  const m = c.choices[0].message;
  out.text = (m.content ?? '') + (m.refusal ?? '');
  for (const t of m.tool_calls ?? []) out.calls.push({ id: t.id, name: t.function.name, arguments: JSON.parse(t.function.arguments) });
  out.stop = c.choices[0].finish_reason;
  out.input = c.usage?.prompt_tokens ?? 0;
  out.output = c.usage?.completion_tokens ?? 0;
}

async function responses({ baseURL, key, request }, out) {
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  delete request.stream;
  const r = await client.responses.stream(request).finalResponse();
  for (const item of r.output) {
    if (item.type === 'message') for (const c of item.content) out.text += c.text ?? c.refusal ?? '';
    if (item.type === 'reasoning') for (const s of item.summary) out.thinking += s.text;
    if (item.type === 'function_call') out.calls.push({ id: item.call_id, name: item.name, arguments: JSON.parse(item.arguments) });
  }
  out.stop = r.status;
  out.input = r.usage.input_tokens;
  out.output = r.usage.output_tokens;
}

async function ask(job) {
  const out = { text: '', thinking: '', calls: [], stop: '', input: 0, output: 0 };
  try {
    await { messages, chat, responses }[job.api](job, out);
  } catch (e) {
    Object.assign(out, { error: String(e.message ?? e), status: e.status ?? 0, type: e.constructor?.name });
  }
  return out;
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await ask(JSON.parse(line))));
process.exit(0);
