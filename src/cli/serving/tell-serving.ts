import { EXIT } from "../../api/problems.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { shellWord } from "../agents/hook-script.ts";
import type { CommandContext } from "../support/context.ts";
import type { LivingServer } from "../../daemon/ask-server.ts";
import { printable } from "../../process/printable.ts";
import type { OperatorToken } from "./operator-token.ts";
import type { PortPlan } from "../../daemon/serve-options.ts";

export interface Listening {
  readonly socket: string;
  readonly urls: readonly string[];
  readonly ports: readonly PortPlan[];
  readonly operator: OperatorToken | undefined;
  /** Returns a new code for the page. */
  readonly newCode: () => string;
}

export function tellListening(context: CommandContext, listening: Listening): void {
  const { socket, urls, operator } = listening;
  if (context.json) {
    const replication = context.input.flag("replication");
    const from = { token_from: operator?.from ?? null };
    const page = pageOf(context, listening);
    context.printJson({ socket, urls: [...urls], page, ...from, replication, already: false, left: null });
    return;
  }
  if (context.input.flag("quiet")) return;
  context.say(`listening on ${printable(socket)}`);
  for (const url of urls) context.say(`listening on ${url}`);
  if (context.input.flag("replication")) {
    // This command's global options are not added to the line, because a replica has its own store.
    context.say(`replicas: chronicle replicate FOLDER --connect ${shellWord(socket)}`);
  }
  const [url] = urls;
  if (url === undefined || operator === undefined) {
    context.say(`ask it: curl --unix-socket ${shellWord(socket)} http://chronicle/v1/workspaces`);
    return;
  }
  const from = operator.from.startsWith("$") ? operator.from : `$(cat ${shellWord(operator.from)})`;
  const others = context.worded("chronicle token create --role reader");
  context.say(`operator's token: in ${printable(operator.from)}; for others: ${others}`);
  const { where, address } = askedAt(url, listening.ports, context.input.flag("behindProxy"));
  context.say(`${where}: curl -H "Authorization: Bearer ${from}" ${address}/v1/workspaces`);
  if (context.input.flag("ui")) tellPage(context, address, listening.newCode);
}

/**
 * Returns the page's address; `null` if there is no page. The address has no code, because programs that read the
 * address may keep it.
 */
function pageOf(context: CommandContext, { urls: [url], ports }: Listening): string | null {
  if (url === undefined || !context.input.flag("ui")) return null;
  return `${askedAt(url, ports, context.input.flag("behindProxy")).address}/`;
}

/**
 * Prints the page's address. Only a terminal gets a code, because other output may be kept in a log that others can
 * read.
 */
function tellPage(context: CommandContext, address: string, newCode: () => string): void {
  if (context.io.err.isTerminal)
    context.say(`the page (this address can be used once, within 5 minutes): ${address}/#code=${newCode()}`);
  else
    context.say(
      `the page: ${address}/ (it asks for a token; \`${context.worded("chronicle ui")}\` opens it without one)`,
    );
}

/**
 * Returns the address for requests to a port, with words that introduce it. If the port is open to other machines, the
 * address has a name of `--allow-host`, because such a port accepts only these names. Behind a proxy, the address is
 * that of the proxy.
 */
function askedAt(url: string, [first]: readonly PortPlan[], isBehind: boolean): { where: string; address: string } {
  const { hostname, protocol, port } = new URL(url);
  const host = first?.hosts[0];
  // The hosts of a loopback port include its own address, so the URL can be used as it is.
  if (host === undefined || first?.hosts.includes(hostname) === true) return { where: "ask it", address: url };
  if (isBehind) return { where: "ask it through the proxy", address: `https://${host}` };
  return { where: "ask it", address: `${protocol}//${/:\d+$/.test(host) || port === "" ? host : `${host}:${port}`}` };
}

export interface AlreadyThere {
  readonly home: string;
  readonly socket: string;
  readonly there: LivingServer;
  readonly ports: readonly PortPlan[];
  /** The requested socket, if the running server listens on a different one. */
  readonly unserved: string | undefined;
}

/**
 * Prints the process that already serves this store and the command that ends it. Returns the exit code. Throws
 * `REFUSED` if this call of `chronicle serve` asks for ports, a different socket or replication. With `--json`, returns
 * the exit code of `REFUSED` instead.
 */
export function tellAlreadyThere(
  context: CommandContext,
  { home, socket, there, ports, unserved }: AlreadyThere,
): number {
  const { pid } = there;
  const isMore = ports.length > 0 || unserved !== undefined || context.input.flag("replication");
  if (context.json) {
    context.printJson({ socket, pid, already: true, left: null });
    return isMore ? EXIT.refused : EXIT.done;
  }
  const who = `process ${pid} already serves ${printable(home)}, on ${printable(socket)}`;
  const how = [`to end it: kill ${pid}`, `to have this folder served by it: ${context.worded("chronicle init")}`];
  if (context.input.flag("ui")) how.push(`to open its page: ${context.worded("chronicle ui")}`);
  if (isMore) {
    throw new ChronicleError("REFUSED", `${who}; ${whatIsNot(ports, unserved)}`, {
      hint: how.join("\n"),
      data: { pid, socket },
    });
  }
  if (context.input.flag("quiet")) return EXIT.done;
  context.print(who);
  for (const line of how) context.print(`  ${line}`);
  return EXIT.done;
}

function whatIsNot(ports: readonly PortPlan[], unserved: string | undefined): string {
  if (ports.length > 0) return "it does not serve the ports that you asked for";
  return unserved === undefined
    ? "it is not known whether it serves replicas"
    : `it does not serve the socket ${printable(unserved)}`;
}
