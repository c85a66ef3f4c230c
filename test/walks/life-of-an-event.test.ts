import { expect, it } from "vitest";
import type { LogEventShape } from "../../src/api/shapes.ts";
import { openStore } from "../../src/open.ts";
import { ServedStore } from "../helpers/served-store.ts";
import { join } from "node:path";

it("life of an event", async () => {
  await using served = await ServedStore.start();
  const { workspace } = await served.client().store.create({ name: "session" });
  await workspace.putFile("before.txt", Buffer.from("before\n"));
  const [last] = await workspace.log({ reverse: true, limit: 1 });

  // Two followers start now, and one starts at the beginning. Each gets each event once, in order.
  const ended = new AbortController();
  const heard: LogEventShape[][] = [];
  const followers = [undefined, last?.seq, 0].map(async (after, i) => {
    const mine: LogEventShape[] = (heard[i] = []);
    const options = { signal: ended.signal, ...(after === undefined ? {} : { after }) };
    for await (const event of served.client("port").workspace("session").events(options)) mine.push(event);
  });
  await expect.poll(() => heard[2]?.length).toBe(last?.seq);

  // The server signals its own write to the followers. It finds the write of another process in the log.
  const { file } = await workspace.putFile("one.txt", Buffer.from("one\n"));
  await expect.poll(() => heard[1]?.map(({ seq }) => seq)).toContain(file?.seq);
  const elsewhere = await openStore({ home: join(served.base, "store"), configFolder: join(served.base, "config") });
  const theirs = await elsewhere.openById("session");
  await theirs.putFile("two.txt", Buffer.from("two\n"));
  await theirs.close();
  await elsewhere.close();

  const [end] = await workspace.log({ reverse: true, limit: 1 });
  await expect.poll(() => heard.map((events) => events.at(-1)?.seq)).toEqual([end?.seq, end?.seq, end?.seq]);
  expect(heard[2]).toEqual(await workspace.log());
  expect(heard[1]).toEqual(heard[2]?.slice(last?.seq));
  expect(heard[0]).toEqual(heard[1]);

  // A follower that was cut off continues after the last event that it names.
  ended.abort();
  await Promise.all(followers);
  const again = new AbortController();
  const rest: number[] = [];
  for await (const { seq } of workspace.events({ after: file?.seq ?? 0, signal: again.signal })) {
    rest.push(seq);
    if (seq === end?.seq) again.abort();
  }
  expect(rest).toEqual(heard[2]?.map(({ seq }) => seq).filter((seq) => seq > (file?.seq ?? 0)));
});
