// Grants for a program that acts for the user whose token it has received. They
// are added to oidc-provider by its registerGrantType:
//
//   token exchange (RFC 8693)   an access token of this issuer becomes one for
//                               another resource, or an identity assertion
//                               (ID-JAG) for another authorization server
//   JWT bearer (RFC 7523)       an identity assertion of the issuer that this
//                               one trusts becomes an access token
import { randomUUID } from 'node:crypto';
import { SignJWT, createRemoteJWKSet, importJWK, jwtVerify } from 'jose';
import { errors } from 'oidc-provider';

const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const bearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
const idJAG = 'urn:ietf:params:oauth:token-type:id-jag';

export const grantTypes = [exchange, bearer];

export function addGrants(provider, { issuer, key, info, trusts }) {
  // verified returns the claims of a JWT, which must be of an issuer and a type.
  const verified = async (jwt, from, typ, audience) => {
    try {
      const keys = createRemoteJWKSet(new URL(`${from}/jwks`));
      return (await jwtVerify(jwt, keys, { issuer: from, typ, audience, requiredClaims: ['exp', 'sub', 'aud'] })).payload;
    } catch (err) {
      throw new errors.InvalidGrant(`the token is not accepted: ${err.message}`);
    }
  };
  // token responds with an access token of an account for a resource.
  const token = async (ctx, account, resource, scope) => {
    const { client } = ctx.oidc;
    const issued = new provider.AccessToken({ accountId: account, client, scope, gty: 'exchange' });
    issued.resourceServer = new provider.ResourceServer(resource, info(ctx, resource));
    ctx.oidc.entity('AccessToken', issued);
    ctx.body = { access_token: await issued.save(), issued_token_type: accessToken, token_type: 'Bearer', expires_in: issued.expiration, scope };
  };
  const allowed = (asked, granted = '') => (asked ?? granted).split(' ').filter((one) => granted.split(' ').includes(one)).join(' ');

  provider.registerGrantType(exchange, async (ctx) => {
    const { params, client } = ctx.oidc;
    if (params.subject_token_type !== accessToken) throw new errors.InvalidRequest('only access tokens are exchanged');
    const subject = await verified(params.subject_token, issuer, 'at+jwt');
    const scope = allowed(params.scope, subject.scope);
    if (params.requested_token_type !== idJAG) {
      await token(ctx, subject.sub, params.resource, scope);
      return;
    }
    const assertion = await new SignJWT({ client_id: client.clientId, resource: params.resource, scope, jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'oauth-id-jag+jwt' })
      .setIssuer(issuer).setSubject(subject.sub).setAudience(params.audience).setIssuedAt().setExpirationTime('5m')
      .sign(await importJWK(key, 'ES256'));
    ctx.body = { access_token: assertion, issued_token_type: idJAG, token_type: 'N_A', expires_in: 300, scope };
  }, ['subject_token', 'subject_token_type', 'requested_token_type', 'resource', 'audience', 'scope']);

  provider.registerGrantType(bearer, async (ctx) => {
    const { params, client } = ctx.oidc;
    if (!trusts) throw new errors.InvalidGrant('no issuer is trusted');
    const claims = await verified(params.assertion, trusts, 'oauth-id-jag+jwt', issuer);
    if (claims.client_id !== client.clientId || claims.resource !== params.resource) throw new errors.InvalidGrant('the assertion is for another client or resource');
    await token(ctx, claims.sub, params.resource, allowed(params.scope, claims.scope));
  }, ['assertion', 'resource', 'scope']);
}
