import { type EditorState, type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** A range within a part, in characters from the beginning of the part. */
export interface Word {
  readonly from: number;
  readonly to: number;
}

/** A part of the text in the form in which one pane shows it. */
export interface ShownPart {
  readonly from: number;
  readonly to: number;
  readonly kind: "undecided" | "current" | "other" | "both" | "edited";
  /** The ranges of the words that differ from the other side. */
  readonly words: readonly Word[];
  /** True for the selected part. */
  readonly isAt?: boolean;
}

/** The effect that replaces the parts of a pane. */
export const setParts = StateEffect.define<readonly ShownPart[]>();

const field = StateField.define<readonly ShownPart[]>({
  create: () => [],
  update: (parts, { changes, effects }) => {
    for (const effect of effects) if (effect.is(setParts)) return effect.value;
    if (changes.empty) return parts;
    return parts.map((part) => ({
      ...part,
      from: changes.mapPos(part.from, -1),
      // Text that is typed at the beginning of the line after a part does not belong to the part.
      to: changes.mapPos(part.to, part.from === part.to ? 1 : -1),
    }));
  },
  provide: (parts) => EditorView.decorations.compute([parts], drawn),
});

/** Returns an extension that shows parts in an editor. */
export function partsShown(): Extension {
  return field;
}

export function rangesOf(state: EditorState): readonly ShownPart[] {
  return state.field(field);
}

function drawn(state: EditorState): DecorationSet {
  return Decoration.set(
    state.field(field).flatMap((part) => marksOf(state, part)),
    true,
  );
}

function marksOf(state: EditorState, { from, to, kind, words, isAt = false }: ShownPart): Range<Decoration>[] {
  const lines: Range<Decoration>[] = [];
  const shown = `part part-${kind}${isAt ? " part-at" : ""}`;
  if (from === to) return [Decoration.line({ class: `${shown} part-empty` }).range(state.doc.lineAt(from).from)];
  for (let at = from; at < to;) {
    const line = state.doc.lineAt(at);
    const edges = `${at === from ? " part-first" : ""}${line.to + 1 >= to ? " part-last" : ""}`;
    lines.push(Decoration.line({ class: shown + edges }).range(line.from));
    at = line.to + 1;
  }
  const marks = words.filter((word) => word.from < word.to && from + word.to <= state.doc.length);
  return [
    ...lines,
    ...marks.map((word) => Decoration.mark({ class: "part-word" }).range(from + word.from, from + word.to)),
  ];
}
