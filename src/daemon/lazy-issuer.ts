import type { OtherIssuer } from "../server/callers/authenticate.ts";
import type { OidcOptions } from "../server/callers/oidc.ts";

/** The provider of tokens. The code that checks them is loaded with the first token that is in no `TokenStore`. */
export function lazyIssuer(options: OidcOptions): OtherIssuer {
  let issuer: Promise<OtherIssuer> | undefined;
  return async (token) => {
    issuer ??= import("../server/callers/oidc.ts").then(({ oidcIssuer }) => oidcIssuer(options));
    return (await issuer)(token);
  };
}
