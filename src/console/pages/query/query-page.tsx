/** The page of queries: an editor, the result under it, the plan and the queries of this tab beside it. */
import './query.css'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError, perform } from '../../app/api.ts'
import { currentSession } from '../../app/session.ts'
import { useStore } from '../../app/store.ts'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { openEditor, type Position, type QueryEditor } from './editor.ts'
import { draft, noteQuery, pastQueries } from './history.ts'
import { Plan, type QueryPlan } from './plan.tsx'
import { type QueryRecord, Result } from './result.tsx'

const KEYS = [
  ['Ctrl ↵', 'run'],
  ['?', 'keys'],
] as const

/** What the last run came to. */
type Outcome =
  | { readonly kind: 'none' | 'running' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'done'; readonly records: readonly QueryRecord[]; readonly isCut: boolean; readonly milliseconds: number }

/** Draws the page. */
export function QueryPage() {
  const { caller, tables } = currentSession()
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<QueryEditor | undefined>(undefined)
  const [outcome, setOutcome] = useState<Outcome>({ kind: 'none' })
  const [plan, setPlan] = useState<QueryPlan>()
  const [purpose, setPurpose] = useState('')
  const running = useRef<AbortController | undefined>(undefined)
  const past = useStore(pastQueries)

  const run = async (text: string): Promise<void> => {
    if (text.trim() === '') return
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    editor.current?.mark()
    setOutcome({ kind: 'running' })
    const options = { purpose, signal: controller.signal }
    const began = performance.now()
    try {
      const [result, explained] = await Promise.all([
        perform('query', { query: text }, options),
        perform('explainQuery', { query: text }, options),
      ])
      setOutcome({ kind: 'done', ...result, milliseconds: performance.now() - began })
      setPlan(explained)
      noteQuery({ text, isRefused: false })
    } catch (error) {
      if (controller.signal.aborted) return
      setOutcome({ kind: 'failed', error })
      setPlan(undefined)
      noteQuery({ text, isRefused: true })
      const position = positionOf(error)
      if (position !== undefined) editor.current?.mark({ position, message: (error as ApiError).message })
    }
  }
  const latest = useRef(run)
  latest.current = run

  useLayoutEffect(() => {
    if (host.current === null) return
    const opened = openEditor(host.current, { text: draft.text, tables, onRun: (text) => void latest.current(text) })
    editor.current = opened
    return () => {
      draft.text = opened.text()
      opened.close()
    }
  }, [tables])
  useEffect(() => () => running.current?.abort(), [])

  const requiresPurpose = tables.some(({ columns }) => columns.some((column) => column.requires !== undefined))
  return (
    <Page title="Queries" isFull keys={KEYS} head={<span class="faint">Read only. Values at your levels.</span>}>
      <div class="query">
        <div class="query-main">
          <div class="query-editor" ref={host} />
          <div class="query-bar">
            <button
              type="button"
              class="button primary"
              disabled={outcome.kind === 'running'}
              onClick={() => void run(editor.current?.text() ?? '')}
            >
              Run
            </button>
            {requiresPurpose ? (
              <input
                class="input"
                aria-label="Purpose"
                placeholder="Purpose, where a column requires one"
                autocomplete="off"
                maxLength={128}
                value={purpose}
                onInput={({ currentTarget }) => setPurpose(currentTarget.value)}
              />
            ) : null}
            <span class="number" role="status">
              {outcome.kind === 'done' ? summary(outcome, caller.limits.query) : ''}
            </span>
          </div>
          {/* A region that scrolls is reached by keys. */}
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
          <section class="query-result" aria-label="Result" tabIndex={0} aria-busy={outcome.kind === 'running'}>
            {outcome.kind === 'failed' ? <Failure error={outcome.error} /> : null}
            {outcome.kind === 'done' ? <Result records={outcome.records} /> : null}
            {outcome.kind === 'none' ? (
              <Empty title="Results appear here">
                <p>A query shows, compares and counts only what your statements allow. The plan beside it says which.</p>
              </Empty>
            ) : null}
          </section>
        </div>
        <aside class="query-side" aria-label="Plan and history">
          <h2>Plan</h2>
          {plan === undefined ? (
            <p class="faint">Run a query to see how it was read, and by which grants.</p>
          ) : (
            <Plan plan={plan} />
          )}
          {past.length === 0 ? null : (
            <>
              <h2>History of this tab</h2>
              <ul class="past">
                {past.map(({ text, isRefused }) => (
                  <li key={text}>
                    <button type="button" class="button quiet" onClick={() => editor.current?.setText(text)}>
                      <span class="mono">{text.replaceAll(/\s+/g, ' ')}</span>
                      {isRefused ? <span class="chip bad">refused</span> : null}
                    </button>
                  </li>
                ))}
              </ul>
            </>
          )}
        </aside>
      </div>
    </Page>
  )
}

function summary({ records, isCut, milliseconds }: Extract<Outcome, { readonly kind: 'done' }>, limit: number): string {
  const counted = `${records.length} ${records.length === 1 ? 'record' : 'records'}, ${milliseconds.toFixed(0)} ms`
  return isCut ? `${counted}. More match: at most ${limit} are returned. Go on with OFFSET.` : counted
}

/** Returns the place in the text that the vault names; undefined if the error is not about one. */
function positionOf(error: unknown): Position | undefined {
  const [detail] = error instanceof ApiError ? error.details : []
  return (detail as { readonly position?: Position } | undefined)?.position
}
