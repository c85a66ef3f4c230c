import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, it } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { connectionOwner, isForeign, ownerIn } from "./connection-owner.ts";
import { ownUid } from "./run-folder.ts";

/** `/proc/net/tcp`: this process listens on 7421, and user 1000 has connected from 50000; user 1001 holds another. */
const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CFD 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1 0 100 0 0 10 0
   1: 0100007F:1CFD 0100007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 2 1 0 100 0 0 10 0
   2: 0100007F:C350 0100007F:1CFD 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 100 0 0 10 0
   3: 0100007F:1CFD 0200007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 4 1 0 100 0 0 10 0
   4: 0200007F:C350 0100007F:1CFD 01 00000000:00000000 00:00000000 00000000  1001        0 5 1 0 100 0 0 10 0
   5: 0100007F:1CFD 0100007F:C351 01 00000000:00000000 00:00000000 00000000     7        0 6 1 0 100 0 0 10 0`;
const TABLE_6 = `
   0: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1CFD 01 0:0 00:0 0  1002        0 7 1 0
   1: 00000000000000000000000001000000:1CFD 00000000000000000000000001000000:C352 01 0:0 00:0 0     7        0 8 1 0
   2: 00000000000000000000000001000000:C352 00000000000000000000000001000000:1CFD 01 0:0 00:0 0  1003        0 9 1 0
   3: 00000000000000000000000001000000:1CFD B80D0120000000000000000001000000:C352 01 0:0 00:0 0     7        0 10 1 0
   4: B80D0120000000000000000001000000:C352 00000000000000000000000001000000:1CFD 01 0:0 00:0 0  1004        0 11 1 0`;

const here = { address: "127.0.0.1", port: 7421 };
const here6 = { address: "::1", port: 7421 };
const from = (address: string, port: number) => ({ here, there: { address, port } });

it.each([
  ["a process", from("127.0.0.1", 50_000), 1000],
  ["a process at another address of the machine", from("127.0.0.2", 50_000), 1001],
  ["a socket of IPv6", from("127.0.0.1", 50_001), 1002],
  ["no process of the table", from("127.0.0.1", 50_002), "unknown"],
  ["a process at a further address of the machine", from("192.168.1.5", 50_000), "unknown"],
  ["a connection to another address", { here: { ...here, address: "172.17.0.2" }, there: here }, "unknown"],
  [
    "a connection to a listener of both",
    { ...from("127.0.0.1", 50_000), here: { ...here, address: "::ffff:127.0.0.1" } },
    1000,
  ],
  ["a process over IPv6", { here: here6, there: { ...here6, port: 50_002 } }, 1003],
  ["a process over IPv6 at another address", { here: here6, there: { address: "2001:db8::1", port: 50_002 } }, 1004],
  ["no process of the table over IPv6", { here: here6, there: { ...here6, port: 50_003 } }, "unknown"],
  ["a connection to another address of IPv6", { here: { ...here6, address: "2001:db8::1" }, there: here6 }, "unknown"],
])("the owner is that of %s", (_name, connection, owner) => {
  expect(ownerIn(TABLE + TABLE_6, connection)).toBe(owner);
});

it("nobody is the owner of an end that the table does not have", () => {
  expect(ownerIn(TABLE, from("127.0.0.1", 50_001))).toBe("nobody");
  expect(ownerIn("", from("127.0.0.1", 50_000))).toBe("unknown");
});

it("another user is foreign, and root and this user are not", () => {
  expect([0, ownUid(), "unknown" as const].map(isForeign)).toEqual([false, false, false]);
  expect([65_534, "nobody" as const].map(isForeign)).toEqual([true, true]);
});

it.runIf(isListed()).each(["127.0.0.1", "::1"])(
  "the owner of a real connection to %s is this user",
  async (address) => {
    const accepted = Promise.withResolvers<Socket>();
    const server = createServer((socket) => accepted.resolve(socket)).listen(0, address);
    await new Promise((done) => server.once("listening", done));
    const client = connect((server.address() as AddressInfo).port, address);
    const { localPort = 0, remotePort = 0 } = await accepted.promise;
    const ends = { here: { address, port: localPort }, there: { address, port: remotePort } };
    expect(connectionOwner(new NodeDisk(), ends)).toBe(ownUid());
    client.destroy();
    server.close();
  },
);

function isListed(): boolean {
  try {
    return readFileSync("/proc/net/tcp", "utf8").includes("local_address");
  } catch {
    return false;
  }
}
