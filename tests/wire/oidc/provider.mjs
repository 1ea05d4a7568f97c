// A certified provider of OpenID Connect (oidc-provider from npm) on loopback, for wire_oidc.py and page_signin.mjs. Everybody signs in with any name;
// the name decides the groups.
//
//   node provider.mjs MODULES REDIRECT_URI     prints the address of the issuer
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, redirect] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(createRequire(resolve(modules, "package.json")).resolve("oidc-provider")));

const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const issuer = `http://127.0.0.1:${server.address().port}`;
const groups = (name) => (name === "zoe" ? ["proteins", "chiefs"] : ["proteins"]);
const provider = new Provider(issuer, {
  clients: [{
    client_id: "motif", token_endpoint_auth_method: "none", redirect_uris: [redirect], application_type: "native",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"], response_types: ["code"],
  }],
  claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email"] },
  conformIdTokenClaims: false,
  features: { deviceFlow: { enabled: true }, devInteractions: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, name: id, groups: groups(id) }) }),
  issueRefreshToken: () => true,
  ttl: { IdToken: 300, AccessToken: 300 },
});
server.on("request", provider.callback());
console.log(issuer);
