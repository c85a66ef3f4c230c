import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { presentableDiff } from "@codemirror/merge";
import { Compartment, EditorState, type Extension, Text } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { codeShown, languageOf } from "../parts/code.ts";
import { keepingEnds, plainSides } from "./line-ends.ts";
import { bothOf, type FoldedLines, foldedLines, type MergePart, mergeSides } from "./merge-parts.ts";
import { type Fold, foldsIn, foldsShown, setFolds } from "./pane-folds.ts";
import { alignPanes, setSpaces, spaces } from "./pane-spaces.ts";
import { partsShown, rangesOf, setParts, type ShownPart, type Word } from "./pane-parts.ts";

/**
 * The content of the result at a part. `undecided`: the result still has the current lines, and the person has not
 * chosen them.
 */
export type Choice = "undecided" | "current" | "other" | "both" | "edited";

/** The content that a person can put into the result at a part. */
export type Taken = "current" | "other" | "both";

export interface PanesState {
  /** The number of the selected part, from 0. */
  readonly at: number;
  readonly choices: readonly Choice[];
  /** True once anything was decided or edited. */
  readonly isTouched: boolean;
  /** The number of folds of unchanged lines, and how many of them are closed. */
  readonly folds: { readonly all: number; readonly closed: number };
}

export interface PanesOptions {
  readonly host: HTMLElement;
  readonly root: ShadowRoot;
  readonly path: string;
  /** The text from which both sides come. If absent, the current text is used instead. */
  readonly base: string | undefined;
  readonly current: string;
  readonly other: string;
  /** The name of the other side, such as `the undo's`. */
  readonly otherName: string;
  readonly mayEdit: boolean;
  /** True if the result initially contains the parts that only the other side has changed. */
  readonly mergesOther: boolean;
  readonly onState: (state: PanesState) => void;
}

/**
 * Shows the current state, the result and the other side of a conflict beside each other, with equal lines at equal
 * heights.
 */
export class ThreePanes {
  readonly #current: EditorView;
  readonly #result: EditorView;
  readonly #other: EditorView;
  readonly #parts: readonly MergePart[];
  readonly #decided = new Set<number>();
  readonly #options: PanesOptions;
  readonly #begun: Text;
  #at = 0;
  #frame = 0;

  constructor(options: PanesOptions) {
    this.#options = options;
    const { base, current, other, otherName, path, mergesOther } = options;
    const sides = plainSides(base ?? current, current, other);
    const merged = mergeSides(sides);
    this.#parts = merged.parts;
    const begins = beginning(sides.current, this.#parts, (part) => mergesOther && !part.isDisputed);
    this.#begun = Text.of(begins.text.split("\n"));
    const language = new Compartment();
    const fixed = [EditorState.readOnly.of(true), EditorView.editable.of(false)];
    const pane = (title: string, name: string, doc: Text, more: Extension): EditorView =>
      new EditorView({
        parent: section(options.host, title),
        root: options.root,
        state: EditorState.create({ doc, extensions: [this.#shared(name), language.of([]), more] }),
      });
    this.#current = pane("Current", `The current state of ${path}`, Text.of(sides.current.split("\n")), fixed);
    const edited = options.mayEdit ? this.#editing(sides.end) : fixed;
    this.#result = pane("Result", `The result for ${path}`, this.#begun, edited);
    this.#other = pane(
      `${sentence(otherName)}`,
      `${otherName} state of ${path}`,
      Text.of(sides.other.split("\n")),
      fixed,
    );
    const words = this.#parts.map(({ current: a, other: b }) => wordsOf(a, b));
    this.#show(
      this.#current,
      this.#parts.map((part, i) => shownAt(part.currentFrom, part.current, "current", words[i]?.[0])),
    );
    this.#show(
      this.#other,
      this.#parts.map((part, i) => shownAt(part.otherFrom, part.other, "other", words[i]?.[1])),
    );
    this.#show(
      this.#result,
      begins.ranges.map((range) => ({ ...range, kind: "undecided", words: [] })),
    );
    this.#fold(foldedLines(sides, merged), begins.ranges);
    this.#changed();
    void languageOf(path).then((found) => {
      for (const view of this.#views()) view.dispatch({ effects: language.reconfigure(found) });
    });
  }

  /** Goes to the next or the previous part. */
  step(by: 1 | -1): void {
    this.goTo(Math.max(0, Math.min(this.#parts.length - 1, this.#at + by)));
  }

  goTo(at: number): void {
    this.#at = at;
    this.#changed();
    for (const view of this.#views()) {
      const from = rangesOf(view.state)[at]?.from;
      if (from !== undefined) view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
    }
  }

  /** Puts one side or both sides of the selected part into the result. */
  take(choice: Taken): void {
    const part = this.#parts[this.#at];
    const ranges = rangesOf(this.#result.state);
    const range = ranges[this.#at];
    if (part === undefined || range === undefined) return;
    const insert = choice === "both" ? bothOf(part) : part[choice];
    const { from, to } = range;
    const by = insert.length - (to - from);
    const moved = ranges.map((one, i) =>
      i < this.#at ? one : i === this.#at ? { ...one, to: to + by } : { ...one, from: one.from + by, to: one.to + by },
    );
    this.#decided.add(this.#at);
    this.#result.dispatch({
      changes: { from, to, insert: Text.of(insert.split("\n")) },
      effects: setParts.of(moved),
      userEvent: "input.take",
    });
    this.#changed();
  }

  /** Shows all unchanged lines. If they are shown already, folds them again. */
  toggleFolds(): void {
    const isAnyClosed = foldsIn(this.#result.state).some(({ isOpen }) => !isOpen);
    this.#setOpen(() => isAnyClosed);
  }

  /** Moves the focus into the result, to the selected part. */
  edit(): void {
    const from = rangesOf(this.#result.state)[this.#at]?.from ?? 0;
    this.#result.focus();
    this.#result.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  /** Returns the text of the result, with its line ends. */
  text(): string {
    return this.#result.state.sliceDoc();
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    for (const view of this.#views()) view.destroy();
  }

  #views(): readonly EditorView[] {
    return [this.#current, this.#result, this.#other];
  }

  #shared(name: string): Extension {
    return [
      codeShown(),
      partsShown(),
      spaces(),
      foldsShown((at) => this.#setOpen((isOpen, i) => isOpen || i === at)),
      EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0" }),
      EditorView.updateListener.of(({ geometryChanged, viewportChanged, docChanged, view }) => {
        if (docChanged && view === this.#result) this.#setOpen((isOpen) => isOpen);
        if (geometryChanged || viewportChanged || docChanged) this.#align();
      }),
    ];
  }

  #editing(end: "\n" | "\r\n"): Extension {
    const leave = (view: EditorView): boolean => {
      view.contentDOM.blur();
      return true;
    };
    return [
      keepingEnds(end),
      history(),
      keymap.of([{ key: "Escape", run: leave }, ...historyKeymap, ...defaultKeymap]),
    ];
  }

  /** Folds the same lines in all panes. */
  #fold(folded: readonly FoldedLines[], results: readonly { readonly from: number; readonly to: number }[]): void {
    const shown = (fromOf: (one: FoldedLines) => number): readonly Fold[] =>
      folded.map((one) => {
        const from = fromOf(one);
        return { from, to: from + one.text.length, lines: one.lines, isOpen: false, isEdited: false };
      });
    const inResult = ({ currentFrom }: FoldedLines): number =>
      this.#parts.reduce((at, part, i) => {
        const range = results[i];
        if (range === undefined || part.currentFrom > currentFrom) return at;
        return at + range.to - range.from - part.current.length;
      }, currentFrom);
    this.#current.dispatch({ effects: setFolds.of(shown((one) => one.currentFrom)) });
    this.#other.dispatch({ effects: setFolds.of(shown((one) => one.otherFrom)) });
    this.#result.dispatch({ effects: setFolds.of(shown(inResult)) });
  }

  /** Opens and closes the same folds in all panes. Lines that were edited in the result stay open. */
  #setOpen(isOpen: (isOpen: boolean, fold: number) => boolean): void {
    const edited = foldsIn(this.#result.state).map((fold) => fold.isEdited);
    for (const view of this.#views()) {
      const folds = foldsIn(view.state);
      const next = folds.map((fold, i) => ({ ...fold, isOpen: edited[i] === true || isOpen(fold.isOpen, i) }));
      if (next.some((fold, i) => fold.isOpen !== folds[i]?.isOpen)) view.dispatch({ effects: setFolds.of(next) });
    }
    this.#changed();
  }

  #show(view: EditorView, parts: readonly ShownPart[]): void {
    view.dispatch({ effects: setParts.of(parts) });
  }

  #choice(i: number, text: string): Choice {
    const part = this.#parts[i];
    if (part === undefined) return "edited";
    if (text === part.current) return this.#decided.has(i) ? "current" : "undecided";
    if (text === part.other) return "other";
    return text === bothOf(part) ? "both" : "edited";
  }

  /** Draws the parts anew, and reports the state through `onState`. */
  #changed(): void {
    const { state } = this.#result;
    const ranges = rangesOf(state);
    const choices = ranges.map(({ from, to }, i) => this.#choice(i, state.doc.sliceString(from, to)));
    for (const view of this.#views()) {
      const parts = rangesOf(view.state).map((one, i) => ({
        ...one,
        kind: view === this.#result ? (choices[i] ?? one.kind) : one.kind,
        isAt: i === this.#at,
      }));
      view.dispatch({ effects: setParts.of(parts) });
    }
    this.#align();
    const isTouched = this.#decided.size > 0 || !state.doc.eq(this.#begun);
    const folds = foldsIn(state);
    const closed = folds.filter(({ isOpen }) => !isOpen).length;
    this.#options.onState({ at: this.#at, choices, isTouched, folds: { all: folds.length, closed } });
  }

  /** Brings equal lines to equal heights, as soon as the editors have been drawn. */
  #align(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      const views = this.#views();
      const found = alignPanes(views.map((view) => ({ view, places: placesOf(view.state) })));
      for (const [i, wanted] of found.entries())
        if (wanted !== undefined) views[i]?.dispatch({ effects: setSpaces.of(wanted) });
    });
  }
}

/** Returns the positions that are at the same height in all panes: the edges of the parts, and the closed folds. */
function placesOf(state: EditorState): readonly number[] {
  const folds = foldsIn(state).filter(({ isOpen }) => !isOpen);
  return [...rangesOf(state).flatMap(({ from, to }) => [from, to]), ...folds.map(({ from }) => from)].toSorted(
    (a, b) => a - b,
  );
}

/** Returns the text with which the result begins, and the range of each part in this text. */
function beginning(
  current: string,
  parts: readonly MergePart[],
  isTaken: (part: MergePart) => boolean,
): { readonly text: string; readonly ranges: readonly { readonly from: number; readonly to: number }[] } {
  let text = "";
  let at = 0;
  const ranges = parts.map((part) => {
    text += current.slice(at, part.currentFrom);
    at = part.currentFrom + part.current.length;
    const from = text.length;
    text += isTaken(part) ? part.other : part.current;
    return { from, to: text.length };
  });
  return { text: text + current.slice(at), ranges };
}

/** The share of a part above which differing words are not marked, because nearly all words would be marked. */
const MOST_DIFFERENT = 0.6;

/** The maximum length, in characters, of both sides of a part whose differing words are marked. */
const MOST_MARKED = 20_000;

function wordsOf(a: string, b: string): readonly [readonly Word[], readonly Word[]] {
  if (a === "" || b === "" || a.length + b.length > MOST_MARKED) return [[], []];
  const found = presentableDiff(a, b, { scanLimit: 500, timeout: 50 });
  const changed = found.reduce((sum, { fromA, toA, fromB, toB }) => sum + toA - fromA + toB - fromB, 0);
  if (changed > (a.length + b.length) * MOST_DIFFERENT) return [[], []];
  return [
    found.map(({ fromA, toA }) => ({ from: fromA, to: toA })),
    found.map(({ fromB, toB }) => ({ from: fromB, to: toB })),
  ];
}

function shownAt(from: number, text: string, kind: ShownPart["kind"], words: readonly Word[] = []): ShownPart {
  return { from, to: from + text.length, kind, words };
}

function section(host: HTMLElement, title: string): HTMLElement {
  const element = document.createElement("section");
  const head = document.createElement("h2");
  head.textContent = title;
  element.append(head);
  host.append(element);
  return element;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
