/** The page of tokens: they are found in a text in this tab, and shown with their values at the caller's level. */
import './tokens.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { OperationResult } from '../../../index.ts'
import { perform } from '../../app/api.ts'
import { Link } from '../../app/link.tsx'
import { currentSession } from '../../app/session.ts'
import { cellOf } from '../../ui/cell.ts'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { Value } from '../../ui/value.tsx'
import { findTokens, MAX_TOKENS } from './find-tokens.ts'

const KEYS = [['Ctrl ↵', 'look up']] as const

/** A token and its value. Without an id it is a transient value, which has no record; without a table it is no token, or not for this caller. */
type Resolved = OperationResult<'getByTokens'>['records'][number]

/** What the last look-up came to. */
type Outcome =
  | { readonly kind: 'none' | 'running' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'done'; readonly records: readonly Resolved[] }

/** Draws the page. */
export function TokensPage() {
  const { tables } = currentSession()
  const [text, setText] = useState('')
  const [outcome, setOutcome] = useState<Outcome>({ kind: 'none' })
  const running = useRef<AbortController | undefined>(undefined)
  const found = useMemo(() => findTokens(text, tables), [text, tables])
  useEffect(() => () => running.current?.abort(), [])

  const lookUp = async (): Promise<void> => {
    if (found.length === 0) return
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setOutcome({ kind: 'running' })
    try {
      const tokens = found.slice(0, MAX_TOKENS)
      const input = { tokens, options: { columnOnly: true } }
      const { records } = await perform('getByTokens', input, { signal: controller.signal })
      setOutcome({ kind: 'done', records })
    } catch (error) {
      if (!controller.signal.aborted) setOutcome({ kind: 'failed', error })
    }
  }

  return (
    <Page title="Tokens" keys={KEYS} head={<span class="faint">Values at your levels.</span>}>
      <div class="tokens">
        <div class="field">
          <label for="pasted">Any text: a log line, a row, an e-mail</label>
          <textarea
            id="pasted"
            class="input mono"
            rows={14}
            spellcheck={false}
            dir="auto"
            value={text}
            onInput={({ currentTarget }) => {
              running.current?.abort()
              setText(currentTarget.value)
              setOutcome({ kind: 'none' })
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void lookUp()
            }}
          />
          <div class="tokens-bar">
            <button
              type="button"
              class="button primary"
              disabled={found.length === 0 || outcome.kind === 'running'}
              onClick={() => void lookUp()}
            >
              Look up{found.length === 0 ? '' : ` ${Math.min(found.length, MAX_TOKENS).toLocaleString('en')}`}
            </button>
            <span class="faint" role="status">
              {foundWords(found.length)}
            </span>
          </div>
        </div>
        <section aria-labelledby="found" aria-busy={outcome.kind === 'running'}>
          <h2 id="found">Found</h2>
          {outcome.kind === 'failed' ? <Failure error={outcome.error} retry={() => void lookUp()} /> : null}
          {outcome.kind === 'done' ? <ResolvedTokens records={outcome.records} /> : null}
          {outcome.kind === 'none' ? (
            <p class="faint">Tokens are found here, in this tab, and only they are sent to the vault.</p>
          ) : null}
        </section>
      </div>
    </Page>
  )
}

function foundWords(count: number): string {
  if (count === 0) return ''
  if (count > MAX_TOKENS)
    return `${count.toLocaleString('en')} texts look like tokens. The first ${MAX_TOKENS.toLocaleString('en')} are looked up.`
  return count === 1 ? '1 text looks like a token.' : `${count} texts look like tokens.`
}

function ResolvedTokens({ records }: { readonly records: readonly Resolved[] }) {
  const shown = records.filter(({ table }) => table !== undefined)
  const others = records.length - shown.length
  return (
    <>
      {shown.length === 0 ? null : (
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col">Column</th>
              <th scope="col">Value</th>
              <th scope="col">Record</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ token, table = '', column = '', id, fields, levels }) => (
              <tr key={token}>
                <td class="mono tokens-token">{token}</td>
                <td>
                  {table}.{column}
                </td>
                <td>
                  <Value cell={cellOf({ id: '', fields, levels }, column)} />
                </td>
                <td>{id === undefined ? 'none: it expires' : <Link to={['tables', table, id]}>{id.slice(0, 8)}</Link>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {others === 0 ? null : (
        <p class="faint">
          {others === 1 ? '1 text is' : `${others} texts are`} no token, or none that you may resolve. The vault does not say
          which.
        </p>
      )}
    </>
  )
}
