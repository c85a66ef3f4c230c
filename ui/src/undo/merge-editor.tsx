import { EditorState } from "@codemirror/state";
import { MergeView } from "@codemirror/merge";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { history, historyKeymap, defaultKeymap } from "@codemirror/commands";
import { useEffect, useRef, useState } from "react";
import { keepingEnds } from "./line-ends.ts";
import styles from "../changes/diff-view.css?inline";

interface MergeEditorProps {
  readonly path: string;
  readonly current: string;
  readonly undo: string;
  readonly undoName: string;
  /** Absent for somebody who may only read. */
  readonly onMerged: ((text: string) => void) | undefined;
}

/** Both sides of a conflict and, between them, the result: it begins as the current state, and is edited freely. */
export function MergeEditor({ path, current, undo, undoName, onMerged }: MergeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const result = useRef<EditorView>(null);
  const [isEdited, setEdited] = useState(false);
  const mayMerge = onMerged !== undefined;
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
    root.adoptedStyleSheets = [sheet];
    const parent = document.createElement("div");
    parent.className = "diff split merge";
    root.replaceChildren(parent);
    const view = mergeView({
      parent,
      root,
      path,
      current,
      undo,
      undoName,
      onEdit: mayMerge ? () => setEdited(true) : undefined,
    });
    result.current = view.b;
    return () => view.destroy();
  }, [path, current, undo, undoName, mayMerge]);
  return (
    <div className="merge-editor">
      <div className="merge-titles" aria-hidden="true">
        <span>{undoName} state</span>
        <span>
          {mayMerge
            ? "The result: begins as the current state. The arrows take a part from the left."
            : "The current state"}
        </span>
      </div>
      <div ref={host} className="diff-host" />
      {onMerged === undefined ? null : (
        <button
          type="button"
          className="button primary"
          disabled={!isEdited}
          onClick={() => onMerged(result.current?.state.sliceDoc() ?? current)}
        >
          Settle with this result
        </button>
      )}
    </div>
  );
}

interface MergeViewOptions {
  readonly parent: HTMLElement;
  readonly root: ShadowRoot;
  readonly path: string;
  readonly current: string;
  readonly undo: string;
  readonly undoName: string;
  /** Absent if nothing can be edited. */
  readonly onEdit: (() => void) | undefined;
}

function mergeView({ parent, root, path, current, undo, undoName, onEdit }: MergeViewOptions): MergeView {
  const named = (name: string) => EditorView.contentAttributes.of({ "aria-label": name, tabindex: "0" });
  const phrases = EditorState.phrases.of({ "Revert this chunk": "Take this part from the left" });
  const shared = [lineNumbers(), EditorView.lineWrapping];
  const fixed = [...shared, EditorState.readOnly.of(true), EditorView.editable.of(false)];
  const edited = [
    ...[...shared, history(), keymap.of([...historyKeymap, ...defaultKeymap]), named(`The result for ${path}`)],
    ...[EditorView.updateListener.of(({ docChanged }) => docChanged && onEdit?.())],
  ];
  return new MergeView({
    a: { doc: undo, extensions: [...fixed, keepingEnds(undo), phrases, named(`${undoName} state of ${path}`)] },
    b: {
      doc: current,
      extensions: [
        keepingEnds(current),
        onEdit === undefined ? [...fixed, named(`The current state of ${path}`)] : edited,
      ],
    },
    ...{ parent, root, highlightChanges: true, gutter: true },
    ...(onEdit === undefined ? {} : { revertControls: "a-to-b" as const }),
  });
}
