import type { SyncApi, SyncEventShape, SyncShape } from "../../api/sync-api.ts";
import type { CommandContext } from "../support/context.ts";
import { printable } from "../../process/printable.ts";
import { namingSync } from "./sync-client.ts";
import { eventText, originOf, stateText } from "../render/syncs.ts";

export interface Following {
  /** The id of the only sync that is followed (default: all syncs). */
  readonly id?: string;
  readonly signal: AbortSignal;
  /**
   * All syncs of the store (default: the syncs that have had events). If a command in a hint could also mean another
   * one of these syncs, the id of the sync is added to the command.
   */
  readonly all?: readonly SyncShape[];
  /** Returns true for a state of a sync at which the display ends. Default: no state ends the display. */
  readonly until?: (sync: SyncShape) => boolean;
  /**
   * Returns a note to print about a sync; `undefined` for no note. The function is called once, for the first sync that
   * its origin admits.
   */
  readonly note?: (sync: SyncShape) => string | undefined;
}

/**
 * Shows the work of syncs until `signal` aborts or `until` returns true. With `--json`, prints each event as one line.
 * Otherwise, prints each event that people need to see, with the time. On a terminal, a last line on stderr shows the
 * present state of the sync that had the last event.
 */
export async function showSyncs(
  context: CommandContext,
  syncs: Pick<SyncApi, "events">,
  { id, all = [], signal, until, note }: Following,
): Promise<void> {
  const view = new SyncView(context, all);
  let isNoted = note === undefined;
  try {
    for await (const event of syncs.events(id, signal)) {
      if (context.json) context.print(JSON.stringify(event));
      else view.show(event);
      if (!isNoted && event.kind === "state" && isLetIn(event.sync)) {
        isNoted = true;
        view.say(note?.(event.sync));
      }
      if (event.kind === "state" && until?.(event.sync) === true) return;
    }
  } finally {
    view.end();
  }
}

function isLetIn({ state }: SyncShape): boolean {
  return state === "syncing" || state === "in-sync";
}

class SyncView {
  readonly #context: CommandContext;
  readonly #all: readonly SyncShape[];
  readonly #known = new Map<string, SyncShape>();
  readonly #said = new Map<string, string>();
  #isDrawn = false;

  constructor(context: CommandContext, all: readonly SyncShape[]) {
    this.#context = context;
    this.#all = all;
  }

  show(event: SyncEventShape): void {
    if (event.kind === "state") this.#known.set(event.id, event.sync);
    this.#clear();
    const text = this.#textOf(event);
    if (text !== undefined) this.#context.print(`${this.#when(event)}${this.#whose(event)}${text}`);
    this.#draw(event.id);
  }

  say(text: string | undefined): void {
    if (text === undefined) return;
    this.#clear();
    this.#context.say(text);
  }

  end(): void {
    this.#clear();
  }

  /**
   * Returns the text of an event; `undefined` if it has none. A state event has a text only if the state has changed,
   * because the last line shows the present state. `syncing` has a text only as the first state.
   */
  #textOf(event: SyncEventShape): string | undefined {
    const { paint } = this.#context;
    const text = eventText(event, paint);
    // The event `halted` has no text, because the state event that follows it has the same reason and a hint.
    if (event.kind === "halted") return undefined;
    if (event.kind !== "state") return text;
    const { state } = event.sync;
    if (this.#said.get(event.id) === state || (state === "syncing" && this.#said.has(event.id))) return undefined;
    this.#said.set(event.id, state);
    if (event.sync.hint === undefined) return text;
    const others = this.#all.filter(({ id }) => !this.#known.has(id));
    const hint = namingSync(this.#context, [...this.#known.values(), ...others], event.sync)(event.sync.hint);
    return `${text}\n  ${paint("dim", this.#context.worded(hint))}`;
  }

  #when({ timestamp }: SyncEventShape): string {
    const { paint } = this.#context;
    return `${paint("dim", timestamp.slice(11, 19))}  `;
  }

  #whose({ id }: SyncEventShape): string {
    if (this.#known.size < 2) return "";
    return `${printable(this.#known.get(id)?.folder ?? id.slice(0, 8))}  `;
  }

  #draw(id: string): void {
    const sync = this.#known.get(id);
    const { io, paintErr } = this.#context;
    if (sync === undefined || !io.err.isTerminal) return;
    const line = `${printable(sync.folder)} ⇄ ${originOf(sync)}: `.slice(0, io.err.columns - 1);
    const rest = io.err.columns - 1 - line.length;
    const plain = stateText(sync, (_format, text) => text);
    io.err.write(`\r\u001b[2K${line}${plain.length > rest ? plain.slice(0, rest) : stateText(sync, paintErr)}`);
    this.#isDrawn = true;
  }

  #clear(): void {
    if (this.#isDrawn) this.#context.io.err.write("\r\u001b[2K");
    this.#isDrawn = false;
  }
}
