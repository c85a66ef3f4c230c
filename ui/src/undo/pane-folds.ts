import { type EditorState, type Extension, Facet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { counted } from "../parts/words.ts";

/** Whole lines that are equal in all panes, and are shown as one line unless the fold is open. */
export interface Fold {
  readonly from: number;
  /** The end of the last line, without its line feed. */
  readonly to: number;
  readonly lines: number;
  readonly isOpen: boolean;
  /** True once somebody has edited these lines. They are then never folded again. */
  readonly isEdited: boolean;
}

/** The effect that replaces the folds of a pane. */
export const setFolds = StateEffect.define<readonly Fold[]>();

/** The function that opens a fold, by its number. */
const opener = Facet.define<(fold: number) => void>();

const field = StateField.define<readonly Fold[]>({
  create: () => [],
  update: (folds, { changes, effects }) => {
    for (const effect of effects) if (effect.is(setFolds)) return effect.value;
    if (changes.empty) return folds;
    return folds.map((fold) => {
      const isEdited = fold.isEdited || changes.touchesRange(fold.from, fold.to) !== false;
      const [from, to] = [changes.mapPos(fold.from, 1), changes.mapPos(fold.to, -1)];
      return { ...fold, from, to: Math.max(from, to), isEdited, isOpen: fold.isOpen || isEdited };
    });
  },
  provide: (folds) => [
    EditorView.decorations.compute([folds], drawn),
    EditorView.atomicRanges.of(({ state }) => drawn(state)),
  ],
});

/** Returns an extension that shows folds in an editor. `onOpen` is called if a person clicks a fold. */
export function foldsShown(onOpen: (fold: number) => void): Extension {
  return [field, opener.of(onOpen)];
}

export function foldsIn(state: EditorState): readonly Fold[] {
  return state.field(field);
}

function drawn(state: EditorState): DecorationSet {
  return Decoration.set(
    state.field(field).flatMap(({ from, to, lines, isOpen }, i) => {
      const widget = new FoldWidget(i, lines);
      return isOpen ? [] : [Decoration.replace({ widget, block: true }).range(from, to)];
    }),
  );
}

/** The line that stands for folded lines: a button, so that it can be reached and pressed by keys, too. */
class FoldWidget extends WidgetType {
  readonly #number: number;
  readonly #lines: number;

  constructor(number: number, lines: number) {
    super();
    this.#number = number;
    this.#lines = lines;
  }

  override eq(other: FoldWidget): boolean {
    return other.#number === this.#number && other.#lines === this.#lines;
  }

  override toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "pane-fold";
    button.textContent = counted(this.#lines, "unchanged line");
    button.title = "Show these lines (f: all)";
    button.addEventListener("click", () => {
      for (const open of view.state.facet(opener)) open(this.#number);
    });
    return button;
  }

  /** The keys and clicks of the button are not the editor's. */
  override ignoreEvent(): boolean {
    return true;
  }

  override get estimatedHeight(): number {
    return 28;
  }
}
