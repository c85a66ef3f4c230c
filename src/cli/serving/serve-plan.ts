import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { CommandContext } from "../support/context.ts";
import type { OidcPlan, PortPlan } from "../../daemon/serve-options.ts";
import { usageError } from "../../process/usage-error.ts";
import type { ChronicleError } from "../../core/values/errors.ts";
import type { PortPlace } from "../../server/http-server.ts";
import { readUserFile } from "../../process/read-json-list.ts";
import { isLoopback } from "../../server/callers/listener.ts";
import { optional } from "../../util/optional.ts";

const MAX_PORT = 65_535;

/**
 * Returns the ports that the options ask for. Throws `USAGE` for invalid or incomplete options. A port without TLS that
 * other machines can reach is invalid, unless `--behind-proxy` is given.
 */
export function plannedPorts({ input, io }: CommandContext): PortPlan[] {
  const listen = input.text("listen");
  const hasPage = input.flag("ui");
  const port = input.number("port") ?? (hasPage && listen === undefined ? 0 : undefined);
  const origins = input.list("allowOrigin").map(originOf);
  refuseNoPort(port);
  if (listen === undefined) refuseWithout(["allowHost", "tlsCert", "tlsKey"], input, "--listen HOST:PORT");
  if (port === undefined && listen === undefined) {
    if (origins.length > 0) throw usageError("--allow-origin goes with a port", "add --port N");
    return [];
  }
  const tls = tlsFiles(input.text("tlsCert"), input.text("tlsKey"), io.cwd());
  const own = port === undefined ? [] : loopback(port, origins);
  const isBehind = input.flag("behindProxy");
  const others =
    listen === undefined ? [] : [outside(listen, { hosts: input.list("allowHost"), origins, tls, isBehind })];
  return [...own, ...others].map((plan) => (hasPage ? { ...plan, page: true } : plan));
}

/** Throws `USAGE` if the number is greater than `MAX_PORT`. */
export function refuseNoPort(port: number | undefined): void {
  if (port !== undefined && port > MAX_PORT)
    throw usageError(`there is no port ${port}`, `give a port up to ${MAX_PORT}`);
}

function refuseWithout(names: readonly string[], input: CommandContext["input"], wanted: string): void {
  for (const name of names) {
    if (input.text(name) === undefined && input.list(name).length === 0) continue;
    const flag = `--${name.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
    throw usageError(`${flag} goes with ${wanted}`, `add ${wanted}, or leave out ${flag}`);
  }
}

function loopback(port: number, sharedWith: readonly string[]): PortPlan[] {
  const hosts = ["127.0.0.1", "localhost", "[::1]"];
  const plan = { hosts, sharedWith };
  return [
    { ...plan, place: { host: "127.0.0.1", port } },
    // Both loopback addresses are used, because another program could otherwise answer when a browser opens
    // `localhost`.
    { ...plan, place: { host: "::1", port }, optional: true },
  ];
}

interface Outside {
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly tls: PortPlace["tls"] | undefined;
  readonly isBehind: boolean;
}

function outside(listen: string, { hosts, origins, tls, isBehind }: Outside): PortPlan {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(listen) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > MAX_PORT)
    throw usageError(`${listen} is no HOST:PORT`, "as in --listen 0.0.0.0:7420");
  if (tls === undefined && !isBehind && !isLoopback(host)) {
    throw usageError(
      "without TLS, tokens and files would go over the network for everybody to read",
      "give --tls-cert and --tls-key, or --behind-proxy if a proxy in front of the server speaks TLS",
    );
  }
  if (hosts.length === 0) {
    throw usageError(
      "--listen needs --allow-host NAME",
      "give the name by which clients reach the server, as in --allow-host files.example.org",
    );
  }
  return { place: { host, port, ...optional({ tls }) }, hosts, sharedWith: origins };
}

function tlsFiles(cert: string | undefined, key: string | undefined, cwd: string): PortPlace["tls"] | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw usageError("--tls-cert and --tls-key go together", "give both");
  return tlsPair({ cert, key, cwd });
}

function originOf(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  if (origin === "null" || text.replace(/\/$/, "") !== origin) {
    throw usageError(`${text} is no origin`, "as in --allow-origin https://files.example.org");
  }
  return origin;
}

/**
 * Returns the OIDC options of a command line; `undefined` if there are none. The default names of the claims are
 * `chronicle_role` and `chronicle_workspaces`. `hasPorts`: true if the server has ports. Throws `USAGE` for options
 * that are unsafe or incomplete, and for options without a port, because only ports accept tokens.
 */
export function plannedOidc({ input }: Pick<CommandContext, "input">, hasPorts: boolean): OidcPlan | undefined {
  const issuer = input.text("oidcIssuer");
  const audience = input.text("oidcAudience");
  const [roleClaim, workspacesClaim] = [input.text("oidcRoleClaim"), input.text("oidcWorkspacesClaim")];
  if (issuer === undefined) {
    if (audience === undefined && roleClaim === undefined && workspacesClaim === undefined) return undefined;
    throw usageError(
      "--oidc-… goes with --oidc-issuer",
      "say whose tokens are accepted, as in --oidc-issuer https://login.example.org",
    );
  }
  if (audience === undefined) {
    throw usageError(
      "--oidc-issuer needs --oidc-audience",
      "give the audience of the tokens that are meant for this server; tokens of that provider for other servers are then " +
        "refused",
    );
  }
  if (!hasPorts) throw usageError("--oidc-issuer goes with a port", "add --port N or --listen HOST:PORT");
  refuseUnsafe(issuer);
  return {
    ...{ issuer, audience },
    roleClaim: roleClaim ?? "chronicle_role",
    workspacesClaim: workspacesClaim ?? "chronicle_workspaces",
  };
}

/**
 * Throws `USAGE` for an issuer without TLS that is not on this machine, because keys that are fetched without TLS could
 * be forged.
 */
function refuseUnsafe(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLocal = url?.hostname === "localhost" || url?.hostname === "127.0.0.1" || url?.hostname === "[::1]";
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return;
  throw usageError(`${issuer} is no https address`, "as in --oidc-issuer https://login.example.org");
}

interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly cwd: string;
}

/**
 * Reads a certificate (with its chain) and its key, in PEM. Throws `USAGE` for any other content, for a key with a
 * passphrase, and if the key does not belong to the certificate. The error names the options and the files.
 */
function tlsPair({ cert, key, cwd }: TlsFiles): NonNullable<PortPlace["tls"]> {
  const pair = { cert: read("--tls-cert", cert, cwd), key: read("--tls-key", key, cwd) };
  const certificate = certificateOf(pair.cert, cert);
  if (!certificate.checkPrivateKey(keyOf(pair.key, key))) {
    throw usageError(
      `the key of --tls-key ${key} does not belong to the certificate of --tls-cert ${cert}`,
      "give the two that were made together; the server's own certificate comes first in its file",
    );
  }
  return pair;
}

function read(flag: string, file: string, cwd: string): string {
  const text = readUserFile(file, cwd, flag);
  if (text.includes("-----BEGIN ")) return text;
  throw usageError(`${flag} ${file} is no PEM file`, "a PEM file begins with -----BEGIN …-----");
}

function certificateOf(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw notIn("--tls-cert", file, { what: "certificate", cause });
  }
}

function keyOf(pem: string, file: string): KeyObject {
  if (/-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem)) {
    throw usageError(
      `the key of --tls-key ${file} is locked with a passphrase, and nobody can type it here`,
      `write it without a passphrase: openssl pkey -in ${file} -out FILE`,
    );
  }
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw notIn("--tls-key", file, { what: "private key", cause });
  }
}

function notIn(
  flag: string,
  file: string,
  { what, cause }: { readonly what: string; readonly cause: unknown },
): ChronicleError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return usageError(`${flag} ${file} holds no ${what} that can be read${why}`, `give a PEM file with a ${what}`);
}
