import { describe, expect, it } from "vitest";
import { ClockedProject } from "../helpers/clocked-project.ts";

const DAY = 24 * 60;

/** States "1", "2" … of one file; the second was recorded by a clock that ran ten days ahead. */
async function fourStates(project: ClockedProject): Promise<void> {
  project.write("a.txt", "0");
  const workspace = await project.init();
  project.pass(60);
  project.write("a.txt", "1");
  await workspace.snapshot({ message: "one" });
  project.pass(10 * DAY);
  project.write("a.txt", "2");
  await workspace.snapshot({ message: "two" });
  project.pass(60 - 10 * DAY);
  project.write("a.txt", "3");
  await workspace.snapshot({ message: "three" });
  project.pass(60);
  project.write("a.txt", "4");
  await workspace.snapshot({ message: "four" });
}

describe("Truth 9: a clock that ran ahead", () => {
  it("affects only its own events: later events carry the time at which they were recorded", async () => {
    await using project = new ClockedProject();
    await fourStates(project);
    const workspace = await project.open();
    const taken = (await workspace.snapshots()).map(({ timestamp }) => timestamp);
    expect(taken).toEqual([
      "2030-01-10T12:00:00.000Z",
      "2030-01-10T13:00:00.000Z",
      "2030-01-20T13:00:00.000Z",
      "2030-01-10T14:00:00.000Z",
      "2030-01-10T15:00:00.000Z",
    ]);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it.each([
    ["10m", "4"],
    ["65m", "3"],
    ["75m", "1"],
    ["125m", "1"],
    ["190m", "0"],
    ["2030-01-10T14:30:00Z", "3"],
    ["2030-01-10T13:30:00Z", "1"],
    ["2030-01-20T13:00:00Z", "4"],
  ])("a restore of %s brings the state of that time (%s)", async (moment, text) => {
    await using project = new ClockedProject();
    await fourStates(project);
    project.pass(10);
    const workspace = await project.open();
    project.write("a.txt", "not recorded");
    await workspace.restore(moment);
    expect(project.read("a.txt")).toBe(text);
  });

  it("gives the same moments after the index is rebuilt", async () => {
    await using project = new ClockedProject();
    await fourStates(project);
    project.pass(10);
    const workspace = await project.open();
    await workspace.rebuild();
    await workspace.restore("65m");
    expect(project.read("a.txt")).toBe("3");
  });

  it("does not make an undo since a time undo older work", async () => {
    await using project = new ClockedProject();
    await fourStates(project);
    project.pass(10);
    const workspace = await project.open();
    await workspace.undo({ since: "20m" });
    expect(project.read("a.txt")).toBe("3");
  });

  it("is reported by the status, in one note", async () => {
    await using project = new ClockedProject();
    await fourStates(project);
    const workspace = await project.open();
    const notes = (await workspace.status()).notes.filter((note) => note.includes("clock"));
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch(/clock.*went back.*2030-01-20T13:00:00\.000Z.*2030-01-10T14:00:00\.000Z/);
  });

  it("is not reported if it went back by less than two minutes", async () => {
    await using project = new ClockedProject();
    project.write("a.txt", "0");
    const workspace = await project.init();
    project.pass(-1);
    project.write("a.txt", "1");
    const { timestamp } = await workspace.snapshot({ message: "one" });
    expect(timestamp).toBe("2030-01-10T11:59:00.000Z");
    expect((await workspace.status()).notes).toEqual([]);
  });

  it("does not delay that an unfinished action is abandoned after a day", async () => {
    await using project = new ClockedProject();
    project.write("a.txt", "0");
    const workspace = await project.init();
    project.pass(10 * DAY);
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, pid: null });
    project.pass(1 - 10 * DAY);
    project.write("b.txt", "1");
    await workspace.snapshot({ message: "the clock is right again" });
    project.pass(25 * 60);
    project.write("a.txt", "1");
    await workspace.snapshot({ message: "a day later" });
    const states = (await workspace.list()).map(({ id, state }) => ({ id, state }));
    expect(states).toEqual([{ id: action?.id, state: "abandoned" }]);
  });

  it("makes no action look older to the limits of retention", async () => {
    await using project = new ClockedProject();
    const retention = { max_age_days: 5, min_age_hours: 0, max_snapshots: 0 };
    project.write("a.txt", "0");
    const workspace = await project.init({ retention });
    await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session: "s" });
    const id =
      (await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session: "s" }))?.id ?? "";
    project.write("a.txt", "1");
    await workspace.finishAction(id);
    project.pass(10 * DAY);
    project.write("a.txt", "2");
    await workspace.snapshot({ message: "by the clock that is ahead" });
    project.pass(1 - 10 * DAY);
    const looked = await workspace.prune({ dryRun: true });
    expect(looked.pruned_actions).toEqual([]);
    project.write("a.txt", "3");
    await workspace.snapshot({ message: "by the clock that is right again" });
    expect((await workspace.prune({ dryRun: true })).pruned_actions).toEqual([]);
    project.pass(6 * DAY);
    project.write("a.txt", "4");
    await workspace.snapshot({ message: "six days later" });
    expect((await workspace.prune({ dryRun: true })).pruned_actions).toEqual([id]);
  });
});

describe("Truth 9: a store of records", () => {
  it("keeps the time at which each event was written, whatever the time of the event before", async () => {
    await using project = new ClockedProject();
    project.write("a.txt", "0");
    const workspace = await project.init();
    const records = workspace.records;
    project.pass(10 * DAY);
    await records.upsert("a", { n: 1 });
    project.pass(1 - 10 * DAY);
    await records.upsert("a", { n: 2 });
    const times = (await workspace.log()).filter(({ record_id: id }) => id === "user:a").map(({ ts }) => ts);
    expect(times.sort()).toEqual(["2030-01-10T12:01:00.000Z", "2030-01-20T12:00:00.000Z"]);
  });
});

describe("Truth 9: a clock that was behind", () => {
  /** States "0" to "3" of one file, an hour apart; the clock was a month behind when "2" was recorded. */
  async function behind(project: ClockedProject): Promise<void> {
    project.write("a.txt", "0");
    const workspace = await project.init();
    project.pass(60);
    project.write("a.txt", "1");
    await workspace.snapshot({ message: "one" });
    project.pass(60 - 30 * DAY);
    project.write("a.txt", "2");
    await workspace.snapshot({ message: "two" });
    project.pass(60 + 30 * DAY);
    project.write("a.txt", "3");
    await workspace.snapshot({ message: "three" });
    project.pass(10);
  }

  it.each([
    ["5m", "3"],
    ["30m", "2"],
    ["2030-01-10T14:30:00Z", "2"],
    ["2030-01-10T12:59:00Z", "0"],
    ["2030-01-10T12:00:00Z", "0"],
    ["2029-12-20", "0"],
  ])("a restore of %s brings the state of that time (%s)", async (moment, text) => {
    await using project = new ClockedProject();
    await behind(project);
    const workspace = await project.open();
    project.write("a.txt", "not recorded");
    await workspace.restore(moment);
    expect(project.read("a.txt")).toBe(text);
  });

  it("decides what a moment such as `30m` means while it is behind", async () => {
    await using project = new ClockedProject();
    project.write("a.txt", "0");
    const workspace = await project.init();
    project.pass(60 - 30 * DAY);
    project.write("a.txt", "1");
    await workspace.snapshot({ message: "one" });
    project.pass(60);
    project.write("a.txt", "2");
    await workspace.snapshot({ message: "two" });
    project.pass(10);
    await workspace.restore("30m");
    expect(project.read("a.txt")).toBe("1");
  });
});
