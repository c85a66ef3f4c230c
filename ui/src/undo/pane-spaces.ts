import { type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** An empty space above a line, which brings equal lines of several editors to the same height. */
export interface Space {
  readonly at: number;
  readonly height: number;
}

/** The effect that replaces the spaces of an editor. */
export const setSpaces = StateEffect.define<readonly Space[]>();

class SpaceWidget extends WidgetType {
  readonly #height: number;

  constructor(height: number) {
    super();
    this.#height = height;
  }

  override eq(other: SpaceWidget): boolean {
    return other.#height === this.#height;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("div");
    element.className = "pane-space";
    element.style.height = `${this.#height}px`;
    return element;
  }

  override get estimatedHeight(): number {
    return this.#height;
  }
}

interface Spaces {
  readonly list: readonly Space[];
  readonly drawn: DecorationSet;
}

const field = StateField.define<Spaces>({
  create: () => ({ list: [], drawn: Decoration.none }),
  update: (spaces, { changes, effects }) => {
    for (const effect of effects) if (effect.is(setSpaces)) return spacesOf(effect.value);
    if (changes.empty) return spaces;
    return spacesOf(spaces.list.map(({ at, height }) => ({ at: changes.mapPos(at, -1), height })));
  },
  provide: (spaces) => EditorView.decorations.from(spaces, ({ drawn }) => drawn),
});

function spacesOf(list: readonly Space[]): Spaces {
  const widgets: Range<Decoration>[] = list
    .filter(({ height }) => height > 0)
    .map(({ at, height }) => Decoration.widget({ widget: new SpaceWidget(height), block: true, side: -1 }).range(at));
  return { list, drawn: Decoration.set(widgets, true) };
}

/** Returns an extension that allows spaces in an editor. */
export function spaces(): Extension {
  return field;
}

interface Pane {
  readonly view: EditorView;
  readonly places: readonly number[];
}

/** The difference between two heights, in pixels, up to which a space is not changed. */
const TOLERANCE_PX = 1;

/**
 * Returns the spaces of each pane which bring each place to the same height in all panes. A place is a position in the
 * text, and all panes have the same number of places, in order.
 * Returns `undefined` for a pane that already has these spaces.
 */
export function alignPanes(panes: readonly Pane[]): readonly (readonly Space[] | undefined)[] {
  const columns = panes.map(({ view, places }) => {
    const before = view.state.field(field).list;
    return {
      view,
      before,
      tops: places.map((at) => ({ at, top: topWithout(view, before, at) })),
      wanted: [] as Space[],
    };
  });
  const shifts = panes.map(() => 0);
  for (let k = 0; k < (columns[0]?.tops.length ?? 0); k += 1) {
    const tops = columns.map(({ tops: own }, i) => (own[k]?.top ?? 0) + (shifts[i] ?? 0));
    const lowest = Math.max(...tops);
    for (const [i, { view, tops: own, wanted }] of columns.entries()) {
      const at = own[k]?.at ?? 0;
      const height = startsLine(view, at) ? lowest - (tops[i] ?? 0) : 0;
      wanted.push({ at, height });
      shifts[i] = (shifts[i] ?? 0) + height;
    }
  }
  return columns.map(({ before, wanted }) => (isSame(before, wanted) ? undefined : wanted));
}

/** Returns the height at which the line at a position would begin if there were no spaces above it. */
function topWithout(view: EditorView, before: readonly Space[], at: number): number {
  const { top, bottom } = view.lineBlockAt(at);
  const above = before.reduce((sum, space) => sum + (space.at < at ? space.height : 0), 0);
  return (startsLine(view, at) ? top : bottom) - above;
}

/**
 * True if a line begins at the position. False only at the end of a text whose last line has no line feed. In this
 * case, no line follows that could be moved.
 */
function startsLine({ state }: EditorView, at: number): boolean {
  return state.doc.lineAt(at).from === at;
}

function isSame(before: readonly Space[], wanted: readonly Space[]): boolean {
  return (
    before.length === wanted.length &&
    wanted.every(({ at, height }, i) => {
      const old = before[i];
      return old?.at === at && Math.abs(old.height - height) <= TOLERANCE_PX;
    })
  );
}
