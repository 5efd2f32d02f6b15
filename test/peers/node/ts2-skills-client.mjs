// Starts a server of skills, reads and verifies everything with the skills
// extension of @modelcontextprotocol/client (version 2), and prints what it
// found as one line of JSON.
//
//   node ts2-skills-client.mjs REVISION command [argument ...]

import { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [revision, command, ...args] = process.argv.slice(2);
const modern = revision >= '2026-07-28';
const client = new Client(
  { name: 'ts2-skills-client', version: '1.0.0' },
  {
    versionNegotiation: { mode: modern ? { pin: revision } : 'legacy' },
    ...(!modern && { supportedProtocolVersions: [revision] })
  }
);
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
const skills = new SkillsClient(client);
const listing = await skills.list();
const found = { revision: client.getNegotiatedProtocolVersion(), directoryRead: skills.directoryRead, ttlMs: listing.ttlMs, skills: {} };
for (const entry of listing.skills) {
  const { skill } = await skills.get(entry.uri);
  const files = [];
  for (const { uri } of skill.resources) {
    const file = await skills.read(skill, uri);
    files.push(`${uri} ${file.bytes.length} ${file.verified}`);
  }
  const children = [];
  const walk = async dir => {
    for (const r of (await skills.readDirectory(dir)).resources) {
      if (r.mimeType === 'inode/directory') await walk(r.uri);
      else children.push(r.uri);
    }
  };
  await walk(skill.uri.replace(/\/SKILL\.md$/, ''));
  found.skills[skill.uri] = { frontmatter: skill.frontmatter, files: files.sort(), children: children.sort() };
}
try {
  await skills.get('skill://none/SKILL.md');
} catch (error) {
  found.unknown = error.code;
}
await client.close();
console.log(JSON.stringify(found));
