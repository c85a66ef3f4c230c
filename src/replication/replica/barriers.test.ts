import { expect, test } from "vitest";
import type { Channel } from "../channel.ts";
import type { Message } from "../protocol/messages.ts";
import { Barriers } from "./barriers.ts";

/** Makes barriers on a channel that only collects what is sent. */
function barriers(isWelcome = true) {
  const sent: Message[] = [];
  const channel: Pick<Channel, "send"> = {
    send: (message) => {
      sent.push(message);
      return Promise.resolve();
    },
  };
  const made = new Barriers(channel as Channel);
  if (isWelcome) made.begin();
  const answer = (current_sequence: number): void => {
    made.took({ type: "BarrierConfirmation", sequence: 7, satisfied: true, current_sequence });
  };
  return { made, sent, answer };
}

test("a caller that asks while an equal request is open is answered only by a request of its own", async () => {
  const { made, sent, answer } = barriers();
  const first = made.ask(7);
  const second = made.ask(7);
  expect(sent).toHaveLength(1);
  answer(8);
  expect(await first).toBe(8);
  expect(sent).toHaveLength(2);
  let isAnswered = false;
  void second.then(() => (isAnswered = true));
  await Promise.resolve();
  expect(isAnswered).toBe(false);
  answer(9);
  expect(await second).toBe(9);
});

test("a later caller is not answered by answers to requests that were repeated before it asked", async () => {
  const { made, sent, answer } = barriers();
  const first = made.ask(7);
  made.beat();
  made.beat();
  answer(8);
  expect(await first).toBe(8);
  const later = made.ask(7);
  answer(8);
  answer(8);
  answer(9);
  expect(await later).toBe(9);
  expect(sent).toHaveLength(4);
});

test("a caller that waits behind answers that never come is answered after as many heartbeats", async () => {
  const { made, answer } = barriers();
  const first = made.ask(7);
  made.beat();
  answer(8);
  expect(await first).toBe(8);
  // The origin has failed at one of the two requests.
  const later = made.ask(7);
  answer(9);
  made.beat();
  answer(9);
  expect(await later).toBe(9);
});

test("requests made before the origin admits this replica are sent only after that", async () => {
  const { made, sent, answer } = barriers(false);
  const asked = [made.ask(7), made.ask(7)];
  made.beat();
  expect(sent).toEqual([]);
  made.begin();
  expect(sent).toHaveLength(1);
  answer(8);
  expect(await asked[0]).toBe(8);
  answer(8);
  expect(await asked[1]).toBe(8);
});

test("an unanswered request is sent again with a heartbeat, and a request that waits behind it is not sent", () => {
  const { made, sent } = barriers();
  const asked = [made.ask(7), made.ask(7), made.ask(8)];
  made.beat();
  expect(sent.map((one) => one.type === "BarrierRequest" && one.sequence)).toEqual([7, 8, 7, 8]);
  made.end();
  for (const one of asked) one.catch(() => undefined);
});
