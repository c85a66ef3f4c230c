import { EditorState } from "@codemirror/state";
import { MergeView } from "@codemirror/merge";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { history, historyKeymap, defaultKeymap } from "@codemirror/commands";
import { useEffect, useRef, useState } from "react";
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
    const phrases = EditorState.phrases.of({ "Revert this chunk": "Take this part from the left" });
    const fixed = [
      phrases,
      lineNumbers(),
      EditorView.lineWrapping,
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ "aria-label": `${undoName} state of ${path}`, tabindex: "0" }),
    ];
    const edited = [
      phrases,
      ...[lineNumbers(), EditorView.lineWrapping, history(), keymap.of([...historyKeymap, ...defaultKeymap])],
      ...[EditorView.contentAttributes.of({ "aria-label": `The result for ${path}` })],
      ...[EditorView.updateListener.of(({ docChanged }) => docChanged && setEdited(true))],
    ];
    const view = new MergeView({
      a: { doc: undo, extensions: fixed },
      b: { doc: current, extensions: edited },
      ...{ parent, root, revertControls: "a-to-b", highlightChanges: true, gutter: true },
    });
    result.current = view.b;
    return () => view.destroy();
  }, [path, current, undo, undoName]);
  return (
    <div className="merge-editor">
      <div className="merge-titles" aria-hidden="true">
        <span>{undoName} state</span>
        <span>The result: begins as the current state. The arrows take a part from the left.</span>
      </div>
      <div ref={host} className="diff-host" />
      {onMerged === undefined ? null : (
        <button
          type="button"
          className="button primary"
          disabled={!isEdited}
          onClick={() => onMerged(result.current?.state.doc.toString() ?? current)}
        >
          Settle with this result
        </button>
      )}
    </div>
  );
}
