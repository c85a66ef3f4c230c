import { EXIT } from "../../../api/problems.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { completionsFor, type Suggestion } from "../../table/completions.ts";
import { CONFIG_KEYS } from "../../support/config-value.ts";
import type { CommandContext } from "../../support/context.ts";
import type { Completes } from "../../table/spec.ts";

/** Shell completion's own codes: offer files as well, or only what was said. */
const WITH_FILES = 0;
const WITHOUT_FILES = 4;

async function moments(context: CommandContext): Promise<Suggestion[]> {
  const workspace = await context.reading();
  const snapshots = (await workspace.snapshots()).toReversed();
  const named = snapshots.flatMap(({ name, number }) =>
    name === undefined ? [] : [{ value: name, about: `snapshot ${number}` }],
  );
  const numbers = snapshots.map(({ number, message, cause, timestamp }) => {
    return { value: String(number), about: `${message ?? cause} ${timestamp}` };
  });
  const words = ["latest", "now", "10m", "1h"].map((value) => ({ value, about: "" }));
  return [...words, ...named, ...numbers.slice(0, 50)];
}

async function looked(what: Completes, context: CommandContext): Promise<Suggestion[]> {
  if (what === "config-key") return CONFIG_KEYS.map((value) => ({ value, about: "" }));
  const store = await context.store({ once: true });
  if (what === "moment") return moments(context);
  if (what === "workspace") {
    const all = await store.workspaces();
    const named = all.flatMap(({ name, path }) => (name === undefined ? [] : [{ value: name, about: path }]));
    return [...named, ...all.map((item) => ({ value: item.id, about: item.name ?? item.path }))];
  }
  if (what === "session") {
    const all = (await (await context.reading()).sessions()).toReversed();
    return all.map((item) => ({ value: item.session_id, about: item.command.join(" ") }));
  }
  if (what === "operation") {
    const all = (await (await context.reading()).operations()).toReversed();
    return all.map((item) => ({ value: item.id, about: `${item.kind}: ${item.summary}` }));
  }
  return [];
}

/** Returns the possible words. If they cannot be looked up (no workspace yet, say), returns none and prints nothing. */
async function offered(what: Completes, context: CommandContext): Promise<Suggestion[]> {
  try {
    return await looked(what, context);
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}

/** Prints the possible next words, one a line with a tab and a remark, and a last line for the shell's script. */
export async function complete(context: CommandContext): Promise<number> {
  const { words, files } = await completionsFor(context.commands, context.input.args, (what) => offered(what, context));
  for (const { value, about } of words) context.print(`${value}\t${about.replaceAll(/[\t\n]/g, " ")}`);
  context.print(`:${files ? WITH_FILES : WITHOUT_FILES}`);
  return EXIT.done;
}
