import { expect, test } from "vitest";
import type { Connection, ServerRequest } from "../answers/server-route.ts";
import { pageRoutes } from "./page-routes.ts";
import { PageSessions } from "./page-sessions.ts";

const PLACE = "127.0.0.1:7421";

interface Sending {
  /** The host that the request names. */
  readonly host?: string;
  /** The address at which the request arrives. */
  readonly at?: string;
  readonly port?: number;
  /** True if another user of the machine sends the request. */
  readonly foreign?: boolean;
}

/** Sends a code in three ways: as its own, then as told; resolves to the status, and to that of its rightful sender. */
async function send(place: string | undefined, sending: Sending): Promise<readonly number[]> {
  const sessions = new PageSessions(() => 0);
  let isForeign = sending.foreign ?? false;
  const files = { list: () => new Set<string>(), read: () => undefined };
  const routes = pageRoutes({ files, sessions, now: () => 0, isForeign: () => isForeign });
  const route = routes.find(({ path }) => path === "/page/session");
  if (route === undefined) throw new Error("the route of the codes is missing");
  const code = sessions.newCode(place);
  const exchange = async ({ host = PLACE, at = "127.0.0.1", port = 7421 }: Sending): Promise<number> => {
    const connection: Connection = { here: { address: at, port }, there: { address: at, port: 50_000 } };
    const body = Buffer.from(JSON.stringify({ code }));
    const request: ServerRequest = {
      ...{ method: "POST", path: route.path, params: {}, query: new URLSearchParams() },
      ...{ headers: { host }, body, isOwner: false, connection },
    };
    return (await route.handle(request)).status;
  };
  const first = await exchange(sending);
  isForeign = false;
  return [first, await exchange({})];
}

test.each<[string, Sending]>([
  ["of another user", { foreign: true }],
  ["of another user, through a proxy", { foreign: true, host: "files.example.org" }],
  ["through a proxy", { host: "files.example.org" }],
  ["by the address of the network", { host: "192.168.1.5:7421", at: "192.168.1.5" }],
  ["with the right host, by the address of the network", { at: "192.168.1.5" }],
  ["by IPv6", { host: "[::1]:7421", at: "::1" }],
  ["at another port", { host: "127.0.0.1:7420", port: 7420 }],
])("a code of `chronicle ui` is refused %s, and is not used up", async (_name, sending) => {
  expect(await send(PLACE, sending)).toEqual([403, 200]);
});

test.each<[string, Sending, number]>([
  ["through a proxy of another user", { foreign: true, host: "files.example.org" }, 200],
  ["by the address of the network", { host: "192.168.1.5:7421", at: "192.168.1.5" }, 200],
  ["of another user", { foreign: true }, 403],
  ["of another user by IPv6", { foreign: true, host: "[::1]:7421", at: "::1" }, 403],
])("a code that a server printed, %s: %i", async (_name, sending, status) => {
  expect((await send(undefined, sending))[0]).toBe(status);
});
