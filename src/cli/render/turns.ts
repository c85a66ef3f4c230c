import type { TurnShape } from "../../api/action-shapes.ts";
import { printable, shortened } from "../../process/printable.ts";

const WITHOUT_PROMPT: Readonly<Record<Exclude<TurnShape["prompt_state"], "kept">, string>> = {
  none: "(prompt not recorded)",
  gone: "(prompt no longer kept)",
  hidden: "(prompt shown to persons only)",
};

/** Returns the first line of a turn's prompt that is not empty. If there is no prompt to show, returns the reason. */
export function turnTitle({ prompt, prompt_state: state }: Pick<TurnShape, "prompt" | "prompt_state">): string {
  if (state !== "kept") return WITHOUT_PROMPT[state];
  const line = (prompt ?? "").split(/[\r\n]/).find((one) => one.trim() !== "") ?? "";
  return printable(line.trim());
}

/**
 * Returns true if the turn has a number in lists. A turn has a number if it changed something and is not completely
 * undone.
 */
export function isCounted({ changed, undone }: Pick<TurnShape, "changed" | "undone">): boolean {
  return changed > 0 && undone !== "yes";
}

/** Returns the number of each turn that `isCounted`. Number 1 is the latest such turn. */
export function numbersOf(turns: readonly TurnShape[]): ReadonlyMap<TurnShape, number> {
  return new Map(turns.filter(isCounted).map((turn, at) => [turn, at + 1]));
}

/** Returns a text that names the paths of a turn, such as `src/a.ts and 2 more`. */
export function pathsOfTurn(
  { paths, changed }: Pick<TurnShape, "paths" | "changed">,
  shown: (path: string) => string,
  most: number,
): string {
  const [first] = paths;
  if (first === undefined) return "no changes";
  const name = shortened(shown(first), most);
  return changed === 1 ? name : `${name} and ${changed - 1} more`;
}

/**
 * Maps the name of an agent to an instruction: how a person takes the agent's conversation back to a prompt. `chronicle
 * rewind` changes files only. The table in `docs/agents.md` has the same instructions, and transcripts of the agents'
 * programs.
 */
const CONVERSATIONS: ReadonlyMap<string, string> = new Map([
  ["claude", "in Claude Code, type /rewind (or press Esc twice), choose this prompt, and then Restore conversation"],
  ["codex", "in Codex, press Esc twice with nothing typed, choose this prompt (←, →), and press Enter"],
  ["gemini", "in Gemini CLI, type /rewind (or press Esc twice), choose this prompt, and then Rewind conversation"],
  ["opencode", "in opencode, type /fork, and choose this prompt; /undo would change files as well"],
  ["copilot", "in Copilot CLI, type /rewind, choose this prompt, and then the conversation only"],
  ["cline", "in Cline, type /undo, choose this prompt, and then Restore chat only; this works in git repositories"],
]);

/** Returns the instruction of `CONVERSATIONS` for an agent; `undefined` for an unknown agent. */
export function conversationBack(actor: string): string | undefined {
  return CONVERSATIONS.get(actor);
}
