// A server of the skills in a folder, written with the skills extension of
// @modelcontextprotocol/server (version 2), on stdin and stdout.
//
//   node ts2-skills-server.mjs FOLDER

import { McpServer } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const skills = await loadSkills(process.argv[2], { strict: true, pageSize: 1 });

serveStdio(() => {
  const server = new McpServer({ name: 'ts2-skills-server', version: '1.0.0' });
  skills.attach(server);
  return server;
});
