import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Origins } from "../../src/compose/origins.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { SocketWire } from "../../src/replication/channels/socket-wire.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { NODE_TIMERS } from "../../src/util/timers.ts";
import { MemoryJournal } from "../../src/testing/memory-journal.ts";
import { RigReplica } from "../../src/testing/push-rig.ts";
import { Project } from "../helpers/project.ts";
import { storeParts } from "../helpers/store-parts.ts";

it("life of a write-back", async () => {
  await using project = new Project();
  project.write("src/a.ts", "one\n");
  project.write("old/b.ts", "two\n");
  const origin = await project.init();
  const parts = await storeParts(project.home, project.configFolder);
  await using origins = new Origins(parts);
  const path = join(project.base, "socket");
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    void (async () => {
      using lease = await origins.lease(origin.id);
      await new OriginSession(new FramedChannel(new SocketWire(socket)), lease.options).run();
    })();
  });
  await once(server.listen(path), "listening");
  const journal = new MemoryJournal();
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  const { timers: _, ...options } = replica.options(undefined as never, { journal, timers: NODE_TIMERS });
  const follow = async () => {
    const socket = connect(path);
    await once(socket, "connect");
    const session = new ReplicaSession(new FramedChannel(new SocketWire(socket)), options);
    return { session, ended: session.run() };
  };
  const settled = async (): Promise<void> => {
    await expect.poll(() => journal.settledTo, { timeout: 10_000 }).toBe(journal.head);
  };
  const seqOf = async (file: string) => (await origin.file(file)).seq;

  // From states that it has seen, the replica edits a file, makes a large file in a new folder, and deletes a folder.
  let talk = await follow();
  await talk.session.barrier();
  const large = "a line that is not alone\n".repeat(200_000);
  const [a, b, old] = [await seqOf("src/a.ts"), await seqOf("old/b.ts"), await seqOf("old")];
  journal.write("src/a.ts", "the replica's\n", a);
  journal.write("new/large.txt", large);
  journal.write("old", undefined, old);
  journal.write("old/b.ts", undefined, b);
  await settled();
  expect([...journal.answers.values()].filter((one) => "reason" in one)).toEqual([]);
  expect(project.read("src/a.ts")).toBe("the replica's\n");
  expect(project.read("new/large.txt") === large).toBe(true);
  expect(Object.keys(project.tree()).filter((name) => name.startsWith("old"))).toEqual([]);
  expect((await origin.history("src/a.ts")).at(-1)).toMatchObject({ cause: "replica", actor: "agent", iteration: 2 });

  // The writes come back as events. After a cut, writes that are sent again are applied once.
  await talk.session.barrier();
  expect(replica.bytes).toBe(readFileSync(join(project.home, "workspaces", origin.id, "events.wal"), "utf8"));
  for (const socket of sockets) socket.destroy();
  await talk.ended;
  journal.forget();
  journal.write("src/a.ts", "written while it was cut off\n", (await origin.file("src/a.ts")).seq);
  talk = await follow();
  await settled();
  expect((await origin.history("src/a.ts")).map(({ iteration }) => iteration)).toEqual([1, 2, 3]);

  // An edit at the origin that is not recorded yet stays, and the replica's late write is refused as stale.
  const seen = await seqOf("src/a.ts");
  project.write("src/a.ts", "somebody's, not recorded yet\n");
  const lost = journal.write("src/a.ts", "too late\n", seen);
  await settled();
  expect(journal.answers.get(lost.localSeq)).toMatchObject({ reason: "stale" });
  expect(project.read("src/a.ts")).toBe("somebody's, not recorded yet\n");
  const { problems } = await origin.verify();
  expect(problems).toEqual([]);

  for (const socket of sockets) socket.destroy();
  await talk.ended;
  server.close();
  await expect.poll(() => origins[Symbol.asyncDispose]()).toBeUndefined();
  await parts.blobs.close();
});
