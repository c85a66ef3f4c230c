import { expect, it } from "vitest";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

it("life of a write", async () => {
  await using project = new HostedProject();
  const store = await project.store();
  const { workspace } = await store.create({ name: "session" });
  const { file } = await workspace.putFile("a.txt", Buffer.from("zero\n"));
  const [before] = await workspace.log({ reverse: true, limit: 1 });

  // The writes come at once. One of them expects a content that has been replaced by then.
  const writes = await Promise.allSettled([
    workspace.putFile("a.txt", Buffer.from("one\n"), { ifMatch: file?.hash ?? "" }),
    workspace.putFile("a.txt", Buffer.from("lost\n"), { ifMatch: file?.hash ?? "" }),
    workspace.putFile("src/b.txt", Buffer.from("two\n"), { requestId: "request-1" }),
    workspace.putFile("src/b.txt", Buffer.from("two\n"), { requestId: "request-1" }),
  ]);
  const [one, lost, two, again] = writes;
  expect(writes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(lost).toMatchObject({ reason: { code: "PRECONDITION_FAILED" } });
  expect(again).toEqual(two);

  // Each write is an intent that opens, its files, and an intent that is done. The failed write has left no events.
  const events = (await workspace.log()).slice(before?.seq);
  expect(events.map(({ record_id }) => record_id.replace(/^intent:.*/, "intent"))).toEqual([
    ...["intent", "file:a.txt", "intent"],
    ...["intent", "file:src", "file:src/b.txt", "intent"],
  ]);
  // All events are in one commit, so they have the same time.
  expect(new Set(events.map(({ ts }) => ts)).size).toBe(1);

  // Each write can be undone alone.
  if (one?.status !== "fulfilled") throw new Error("the first write was not done");
  await workspace.undo({ operation: one.value.undo_id ?? "" });
  expect(await text(await workspace.file("a.txt"))).toBe("zero\n");
  expect(await text(await workspace.file("src/b.txt"))).toBe("two\n");
  await workspace.close();
});
