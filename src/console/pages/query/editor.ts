/** The editor of queries: CodeMirror in a shadow root, where its styles are constructed sheets, which the content policy allows without a nonce. */
import { autocompletion, closeBrackets, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { SQLDialect, sql } from '@codemirror/lang-sql'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { TableDescription } from '../../app/contract.ts'

/** The words of the query language of the vault. */
const DIALECT = SQLDialect.define({
  keywords:
    'select from where and or not like ilike in between is null true false as join inner left right full outer cross on limit offset order group by asc desc distinct',
  builtin: 'avg sum count min max redaction',
  types: '',
})

const COLORS = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '550' },
  { tag: tags.string, color: 'var(--masked)' },
  { tag: [tags.number, tags.standard(tags.name)], color: 'var(--seen)' },
  { tag: tags.comment, color: 'var(--ink-3)' },
])

const LOOK = EditorView.theme({
  '&': { color: 'var(--ink)', background: 'var(--surface)', fontSize: 'var(--t-md)', minHeight: '9.5rem', maxHeight: '40vh' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.65', overflow: 'auto' },
  '.cm-content': { padding: 'var(--s-4) 0', caretColor: 'var(--ink)' },
  '.cm-gutters': { background: 'var(--surface)', border: '0', color: 'var(--ink-3)', paddingInlineStart: 'var(--s-3)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)', borderLeftWidth: '2px' },
  '.cm-selectionBackground': { background: 'var(--accent-soft) !important' },
  '.cm-placeholder': { color: 'var(--ink-3)' },
  '.cm-tooltip': { background: 'var(--surface)', border: '1px solid var(--line-2)', borderRadius: 'var(--r-2)' },
  '.cm-tooltip-autocomplete ul li': { padding: '3px 10px', fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-soft)', color: 'var(--ink)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger) 1.5px',
    textUnderlineOffset: '3px',
  },
})

/** The place of an error, as the vault has it: line and column count from 1. */
export interface Position {
  readonly line: number
  readonly column: number
  readonly length: number
}

/** An editor in a page. */
export interface QueryEditor {
  text(): string
  /** Puts another text in place, with the cursor in it. */
  setText(text: string): void
  /** Underlines what is wrong, and puts the cursor there; without an error, underlines nothing. */
  mark(error?: { readonly position: Position; readonly message: string }): void
  close(): void
}

/** How an editor is opened. */
export interface EditorOptions {
  readonly text: string
  /** The tables and columns that it completes. */
  readonly tables: readonly TableDescription[]
  onRun(text: string): void
}

/** Opens an editor in an element, with the cursor in it. */
export function openEditor(host: HTMLElement, { text, tables, onRun }: EditorOptions): QueryEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const schema = Object.fromEntries(
    tables.map(({ name, columns }) => [name, ['svc_id', ...columns.map((column) => column.name)]]),
  )
  const run = (view: EditorView): boolean => {
    onRun(view.state.doc.toString())
    return true
  }
  const extensions = [
    lineNumbers(),
    history(),
    drawSelection(),
    closeBrackets(),
    autocompletion({ icons: false }),
    sql({ dialect: DIALECT, schema, upperCaseKeywords: true }),
    syntaxHighlighting(COLORS),
    LOOK,
    placeholder('SELECT … FROM …'),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'Query' }),
    keymap.of([{ key: 'Mod-Enter', run }, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
  ]
  const view = new EditorView({ parent: root, root, state: EditorState.create({ doc: text, extensions }) })
  view.focus()
  return {
    text: () => view.state.doc.toString(),
    setText(next) {
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: next },
        selection: { anchor: next.length },
      })
      view.focus()
    },
    mark(error) {
      if (error === undefined) {
        view.dispatch(setDiagnostics(view.state, []))
        return
      }
      const { position, message } = error
      const { doc } = view.state
      const line = doc.line(Math.min(position.line, doc.lines))
      const from = Math.min(line.from + position.column - 1, doc.length)
      const to = Math.min(from + position.length, doc.length)
      view.dispatch(setDiagnostics(view.state, [{ from, to, severity: 'error', message }]), {
        selection: { anchor: from },
        scrollIntoView: true,
      })
      view.focus()
    },
    close: () => view.destroy(),
  }
}
