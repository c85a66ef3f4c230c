import { isLoopback } from "../../server/callers/listener.ts";
import type { PortPlace } from "../../server/http-server.ts";
import type { CommandContext } from "../support/context.ts";
import type { PortPlan } from "../../daemon/serve-options.ts";
import { usageError } from "../../process/usage-error.ts";
import { tlsPair } from "./tls-pair.ts";
import { optional } from "../../util/optional.ts";

const MAX_PORT = 65_535;

/** The ports that a command line asks for. Throws `USAGE` if one would be unsafe, unless an option allows it. */
export function plannedPorts({ input, io }: CommandContext): PortPlan[] {
  const port = input.number("port");
  const listen = input.text("listen");
  const origins = input.list("allowOrigin").map(originOf);
  if (port !== undefined && port > MAX_PORT) throw usageError(`there is no port ${port}`, `it is at most ${MAX_PORT}`);
  if (listen === undefined) refuseWithout(["allowHost", "tlsCert", "tlsKey"], input, "--listen HOST:PORT");
  if (port === undefined && listen === undefined) {
    if (origins.length > 0) throw usageError("--allow-origin goes with a port", "say --port N as well");
    return [];
  }
  const tls = tlsFiles(input.text("tlsCert"), input.text("tlsKey"), io.cwd());
  const own = port === undefined ? [] : loopback(port, origins);
  if (listen === undefined) return own;
  return [
    ...own,
    outside(listen, { hosts: input.list("allowHost"), origins, tls, isBehind: input.flag("behindProxy") }),
  ];
}

function refuseWithout(names: readonly string[], input: CommandContext["input"], wanted: string): void {
  for (const name of names) {
    if (input.text(name) === undefined && input.list(name).length === 0) continue;
    const flag = `--${name.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
    throw usageError(`${flag} goes with ${wanted}`, `say ${wanted}, or leave ${flag} out`);
  }
}

function loopback(port: number, sharedWith: readonly string[]): PortPlan[] {
  const hosts = ["127.0.0.1", "localhost", "[::1]"];
  const plan = { hosts, sharedWith };
  return [
    { ...plan, place: { host: "127.0.0.1", port } },
    // The same port on both: otherwise another program might answer a browser's `localhost`.
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
      "say --tls-cert and --tls-key; or --behind-proxy, if a proxy in front of it speaks TLS",
    );
  }
  if (hosts.length === 0) {
    throw usageError(
      "--listen needs --allow-host NAME",
      "the names by which clients ask for it, as in --allow-host files.example.org",
    );
  }
  return { place: { host, port, ...optional({ tls }) }, hosts, sharedWith: origins };
}

function tlsFiles(cert: string | undefined, key: string | undefined, cwd: string): PortPlace["tls"] | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) throw usageError("--tls-cert and --tls-key go together", "say both");
  return tlsPair({ cert, key, cwd });
}

function originOf(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  if (origin === "null" || text.replace(/\/$/, "") !== origin) {
    throw usageError(`${text} is no origin`, "as in --allow-origin https://files.example.org");
  }
  return origin;
}
