// An authorization server on loopback: the npm package oidc-provider, with the
// pages for login and consent that it brings along. It is told what to do by
// one JSON argument and prints one JSON object per line:
//
//   {"issuer": "http://127.0.0.1:…"}            first, when it listens
//   {"event": "granted", "grant": "…", …}       a token was given
//   {"event": "refused", "grant": "…", …}       a token was not given
//
// The argument: {"ttl": seconds that access tokens live (3600), "nonces": true
// if proofs of possession need a nonce, "alg": how JWTs are signed (ES256),
// "key": public JWK of the client "machine-key", "groups": {account: [group, …]}
// for the claim groups, "trusts": the issuer whose assertions it takes (see
// grants.mjs), "received": a file for every byte that it is sent}.
//
// A resource whose path begins with /opaque/ gets tokens that mean nothing by
// themselves; every other one gets JWTs. It ends with its standard input.
import { createServer } from 'node:http';
import { randomBytes, generateKeyPairSync } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { Provider, errors } from 'oidc-provider';
import { addGrants, grantTypes } from './grants.mjs';

const told = JSON.parse(process.argv[2] ?? '{}');
const ttl = told.ttl ?? 3600;
const scopes = 'read write';

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

function signingKeys() {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  return [{ ...rsa, kid: 'rsa', use: 'sig' }, { ...ec, kid: 'ec', use: 'sig', alg: 'ES256' }];
}

function clients() {
  const list = [
    {
      client_id: 'known', client_name: 'A client that was registered by hand', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    },
    {
      client_id: 'device', client_name: 'A client without a browser', redirect_uris: [], token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'], response_types: [],
    },
    {
      client_id: 'machine', client_secret: 'a secret: of 100% chance & more', redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic', grant_types: ['client_credentials'], response_types: [],
    },
    {
      client_id: 'late', client_secret: 'its tokens have expired', redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic', grant_types: ['client_credentials'], response_types: [],
    },
    {
      client_id: 'gateway', client_secret: 'the secret of the gateway', redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic', grant_types: grantTypes, response_types: [],
    },
    {
      client_id: 'resource-server', client_secret: 'the secret of the resource server', redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic', grant_types: [], response_types: [],
    },
  ];
  if (told.key) {
    list.push({
      client_id: 'machine-key', redirect_uris: [], response_types: [], grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: { keys: [told.key] },
    });
  }
  return list;
}

const resourceIndicators = {
  enabled: true,
  getResourceServerInfo(ctx, resource) {
    const url = new URL(resource);
    if (url.hostname !== '127.0.0.1') throw new errors.InvalidTarget();
    const info = { scope: scopes, audience: resource, accessTokenTTL: ttl };
    if (url.pathname.startsWith('/opaque/')) return { ...info, accessTokenFormat: 'opaque' };
    return { ...info, accessTokenFormat: 'jwt', jwt: { sign: { alg: told.alg ?? 'ES256' } } };
  },
  useGrantedResource: () => true,
};

const configuration = {
  clients: clients(),
  jwks: { keys: signingKeys() },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  scopes: ['openid', 'offline_access', ...scopes.split(' ')],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  extraTokenClaims: (ctx, token) => (told.groups?.[token.accountId] ? { groups: told.groups[token.accountId] } : undefined),
  // Tokens of the client "late" have expired when they are issued.
  formats: { customizers: { jwt(ctx, token, jwt) { if (token.clientId === 'late') jwt.payload.exp = jwt.payload.iat - 3600; } } },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  // Client id metadata documents are on loopback here, which oidc-provider by
  // itself would rightly not fetch from.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  ttl: { AccessToken: ttl, ClientCredentials: ttl, AuthorizationCode: 60, Grant: 3600, Interaction: 600, Session: 3600, RefreshToken: 3600, IdToken: 600 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === 'resource-server' },
    revocation: { enabled: true },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => told.nonces === true },
    resourceIndicators,
  },
};

const web = createServer();
if (told.received) web.on('connection', (socket) => socket.on('data', (bytes) => appendFileSync(told.received, bytes)));
web.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${web.address().port}`;
  const provider = new Provider(issuer, configuration);
  addGrants(provider, { issuer, key: configuration.jwks.keys.find((key) => key.kid === 'ec'), info: resourceIndicators.getResourceServerInfo, trusts: told.trusts });
  const about = (ctx) => ({
    grant: ctx.oidc?.params?.grant_type, client: ctx.oidc?.client?.clientId, resource: ctx.oidc?.params?.resource,
  });
  provider.on('grant.success', (ctx) => say({ event: 'granted', ...about(ctx), scope: ctx.body?.scope, type: ctx.body?.token_type }));
  provider.on('grant.error', (ctx, err) => say({ event: 'refused', ...about(ctx), error: err.error, detail: err.error_detail ?? err.error_description }));
  for (const name of ['authorization.error', 'registration_create.error', 'introspection.error', 'revocation.error', 'server_error']) {
    provider.on(name, (ctx, err) => say({ event: name, error: err.error ?? String(err), detail: err.error_detail ?? err.error_description }));
  }
  web.on('request', provider.callback());
  say({ issuer });
});

process.stdin.on('end', () => process.exit(0)).resume();
