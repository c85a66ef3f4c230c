import { readFileSync } from "node:fs";
import { createServer, connect, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openReplica, type ReplicaHold } from "../../src/compose/file-sync-places.ts";
import { Origins } from "../../src/compose/origins.ts";
import type { StoreParts } from "../../src/compose/open-context.ts";
import { parsePath, ROOT } from "../../src/core/values/path.ts";
import { FramedChannel } from "../../src/replication/channels/framed-channel.ts";
import { SocketWire } from "../../src/replication/channels/socket-wire.ts";
import { OriginSession } from "../../src/replication/origin/origin-session.ts";
import { ReplicaSession } from "../../src/replication/replica/replica-session.ts";
import { openStore } from "../../src/open.ts";
import { Project } from "../helpers/project.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** Serves one workspace to replicas on a Unix socket. */
async function serve(parts: StoreParts, id: string, path: string) {
  const origins = new Origins(parts);
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    void (async () => {
      using lease = await origins.lease(id);
      await new OriginSession(new FramedChannel(new SocketWire(socket)), lease.options).run();
    })();
  });
  server.listen(path);
  await once(server, "listening");
  return {
    cut: () => sockets.forEach((socket) => socket.destroy()),
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await expect.poll(() => origins[Symbol.asyncDispose]()).toBeUndefined();
    },
  };
}

/** One conversation, from the replica's end. */
async function follow(hold: ReplicaHold, path: string) {
  const socket = connect(path);
  await once(socket, "connect");
  const channel = new FramedChannel(new SocketWire(socket));
  const session = new ReplicaSession(channel, { ...hold.options, sandboxId: hold.context.workspaceId });
  const ended = session.run();
  return { session, end: () => (channel.close(), ended), ended };
}

it("life of a push", async () => {
  await using project = new Project();
  await using other = new Project();
  project.write("small.txt", "from the baseline\n");
  project.write("deep/large.txt", "also from the baseline\n".repeat(1_000));
  const origin = await project.init();
  const { id } = origin;
  const replica = await other.init();
  const log = () => readFileSync(join(project.home, "workspaces", id, "events.wal"), "utf8");
  const mirrored = () => readFileSync(join(other.home, "workspaces", replica.id, "upstream", "events.wal"), "utf8");
  const socket = join(project.base, "socket");

  const here = await storeParts(project.home, project.configFolder);
  const there = await storeParts(other.home, other.configFolder);
  const served = await serve(here, id, socket);
  const hold = await openReplica(there, replica.id);
  const { mirror } = hold;
  let talk = await follow(hold, socket);

  // The replica gets all earlier events with their contents, then those of this process, then those of another one.
  await talk.session.barrier();
  expect(mirrored()).toBe(log());
  expect(mirror.workspace).toBe(id);
  const [baseline] = await mirror.childrenAt(parsePath("deep"), mirror.head.seq);
  expect(baseline?.entry?.size).toBe("also from the baseline\n".length * 1_000);
  expect((await there.blobs.get(baseline?.entry?.hash as never))?.length).toBe(baseline?.entry?.size);
  const { file } = await origin.putFile("small.txt", Buffer.from("written later\n"));
  await talk.session.reaches(file?.seq ?? 0);
  const elsewhere = await openStore({ home: project.home, configFolder: project.configFolder });
  const theirs = await elsewhere.openById(id);
  const second = await theirs.putFile("new.txt", Buffer.from("by another process\n"));
  await talk.session.reaches(second.file?.seq ?? 0);
  expect(mirrored()).toBe(log());
  expect((await mirror.touched(file?.seq ?? 0, mirror.head.seq)).map(String)).toEqual(["new.txt"]);
  expect(await mirror.record(second.file?.seq ?? 0)).toMatchObject({ iteration: 1, cause: "write" });

  // After a cut and a new connection, the replica continues where it was.
  served.cut();
  await talk.ended;
  await theirs.putFile("new.txt", Buffer.from("while nobody listened\n"));
  await origin.compact();
  await theirs.deleteFile("small.txt");
  talk = await follow(hold, socket);
  await talk.session.barrier();
  expect(await mirror.iterationAt(parsePath("small.txt"), mirror.head.seq)).toMatchObject({ entry: undefined });
  expect(await mirror.treeHash(ROOT)).toBe((await origin.status()).root);

  // Nobody else can open the replica while it follows. Opened later, its mirror is as it was.
  await expect(openReplica(there, replica.id)).rejects.toMatchObject({ code: "LOCKED" });
  await talk.end();
  const { head } = mirror;
  await hold[Symbol.asyncDispose]();
  const again = await openReplica(there, replica.id);
  expect(again.mirror.head).toEqual(head);
  expect(again.mirror.workspace).toBe(id);
  await again[Symbol.asyncDispose]();
  await theirs.close();
  await elsewhere.close();
  await served.close();
  await here.blobs.close();
  await there.blobs.close();
});
