import type { CommandContext } from "../support/context.ts";
import type { OidcPlan } from "../../daemon/serve-options.ts";
import { usageError } from "../../process/usage-error.ts";

/**
 * The OIDC options of a command line. `hasPorts`: there are ports, so tokens are needed at all. Throws `USAGE` for
 * options that are unsafe or incomplete.
 */
export function plannedOidc({ input }: Pick<CommandContext, "input">, hasPorts: boolean): OidcPlan | undefined {
  const issuer = input.text("oidcIssuer");
  const audience = input.text("oidcAudience");
  const [roleClaim, workspacesClaim] = [input.text("oidcRoleClaim"), input.text("oidcWorkspacesClaim")];
  if (issuer === undefined) {
    if (audience === undefined && roleClaim === undefined && workspacesClaim === undefined) return undefined;
    throw usageError(
      "--oidc-… goes with --oidc-issuer",
      "say whose tokens are taken: --oidc-issuer https://login.example.org",
    );
  }
  if (audience === undefined) {
    throw usageError(
      "--oidc-issuer needs --oidc-audience",
      "what tokens for this server name as their audience: others of that provider must not do here",
    );
  }
  if (!hasPorts) throw usageError("--oidc-issuer goes with a port", "say --port N or --listen HOST:PORT as well");
  refuseUnsafe(issuer);
  return {
    ...{ issuer, audience },
    roleClaim: roleClaim ?? "chronicle_role",
    workspacesClaim: workspacesClaim ?? "chronicle_workspaces",
  };
}

/** Keys that are fetched without TLS could be forged. */
function refuseUnsafe(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLocal = url?.hostname === "localhost" || url?.hostname === "127.0.0.1" || url?.hostname === "[::1]";
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return;
  throw usageError(`${issuer} is no https address`, "as in --oidc-issuer https://login.example.org");
}
