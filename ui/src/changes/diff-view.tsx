import { getChunks, MergeView, unifiedMergeView } from "@codemirror/merge";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { codeShown, languageOf } from "../parts/code.ts";
import styles from "./diff-view.css?inline";

interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  /** The path of the file. Decides the language for the colours of the text. */
  readonly path: string;
  readonly layout: "split" | "unified";
  /** True to compare without regard to spaces. */
  readonly isLoose: boolean;
  readonly onCounts: (counts: { readonly added: number; readonly removed: number }) => void;
}

/**
 * The rule for folding unchanged lines: `margin` lines beside each change stay visible, and fewer than `minSize` lines
 * are not folded.
 */
const COLLAPSE = { margin: 3, minSize: 6 };
/** The limits of the search for the shortest difference. `timeout` is in milliseconds. */
const DIFF = { scanLimit: 2_000, timeout: 500 };

/**
 * Shows both states of a file, with the changed words marked. The editor is in a shadow root, where it adds its styles
 * as style sheet objects. Outside of a shadow root, the editor would add style elements, which the page's content
 * security policy forbids.
 */
export function DiffView({ before, after, path, layout, isLoose, onCounts }: DiffViewProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(styles)];
    const parent = document.createElement("div");
    parent.className = `diff ${layout}`;
    root.replaceChildren(parent);
    const language = new Compartment();
    const shared = [...readOnly(), language.of([])];
    const [a, b] = isLoose ? [loose(before), loose(after)] : [before, after];
    const view = layout === "split" ? split({ a, b, parent, root, shared }) : unified({ a, b, parent, root, shared });
    const { editors, destroy } = view;
    onCounts(countsOf(editors.at(-1), a, b));
    void languageOf(path).then((found) => {
      for (const editor of editors) editor.dispatch({ effects: language.reconfigure(found) });
    });
    return destroy;
  }, [before, after, path, layout, isLoose, onCounts]);
  return <div ref={host} className="diff-host" />;
}

let sheet: CSSStyleSheet | undefined;

function sheetOf(text: string): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
  }
  return sheet;
}

function readOnly(): Extension[] {
  return [
    codeShown(),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ "aria-label": "Content", tabindex: "0" }),
  ];
}

interface Sides {
  readonly a: string;
  readonly b: string;
  readonly parent: HTMLElement;
  readonly root: ShadowRoot;
  readonly shared: readonly Extension[];
}

interface Shown {
  readonly editors: readonly EditorView[];
  readonly destroy: () => void;
}

function split({ a, b, parent, root, shared }: Sides): Shown {
  const extensions = [...shared];
  const view = new MergeView({
    a: { doc: a, extensions },
    b: { doc: b, extensions },
    ...{ parent, root, gutter: true, highlightChanges: true, collapseUnchanged: COLLAPSE, diffConfig: DIFF },
  });
  return { editors: [view.a, view.b], destroy: () => view.destroy() };
}

function unified({ a, b, parent, root, shared }: Sides): Shown {
  const merge = unifiedMergeView({
    original: a,
    ...{ mergeControls: false, highlightChanges: true, gutter: true, collapseUnchanged: COLLAPSE, diffConfig: DIFF },
  });
  const editor = new EditorView({ doc: b, extensions: [...shared, merge], parent, root });
  return { editors: [editor], destroy: () => editor.destroy() };
}

/** Returns the text with one space in place of several consecutive spaces, and without spaces at the ends of lines. */
function loose(text: string): string {
  return text.replace(/[^\S\n]+/g, " ").replace(/ $/gm, "");
}

function countsOf(
  editor: EditorView | undefined,
  a: string,
  b: string,
): { readonly added: number; readonly removed: number } {
  const chunks = editor === undefined ? undefined : getChunks(editor.state)?.chunks;
  let added = 0;
  let removed = 0;
  for (const { fromA, endA, fromB, endB } of chunks ?? []) {
    removed += linesIn(a, fromA, endA);
    added += linesIn(b, fromB, endB);
  }
  return { added, removed };
}

function linesIn(text: string, from: number, end: number): number {
  if (from >= end) return 0;
  return text.slice(from, end).split("\n").length;
}
