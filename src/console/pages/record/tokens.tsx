/** The tokens of a record, asked for by a click: each such read is an event of its own. */
import { useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import type { TableDescription, UntypedRecord } from '../../app/contract.ts'
import { copyText } from '../../ui/copy.ts'
import { Failure } from '../../ui/failure.tsx'

/** Draws them; nothing for a table without tokens. */
export function TokenSection({ table, id }: { readonly table: TableDescription; readonly id: string }) {
  const [tokens, setTokens] = useState<UntypedRecord['tokens']>()
  const [failure, setFailure] = useState<unknown>()
  if (!table.columns.some(({ tokenKind }) => tokenKind !== undefined)) return null
  const read = (): void => {
    setFailure(undefined)
    const options = { tokenization: true }
    perform('getOne', { table: table.name, id, options }).then((record) => setTokens(record.tokens ?? {}), setFailure)
  }
  const rows = Object.entries(tokens ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return (
    <section class="section" aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      {failure === undefined ? null : <Failure error={failure} retry={read} />}
      {tokens === undefined ? (
        <button type="button" class="button own-width" onClick={read}>
          Show tokens
        </button>
      ) : rows.length === 0 ? (
        <p class="faint">No token of this record is shown to you.</p>
      ) : (
        <div class="list">
          {rows.map(([column, token]) => (
            <div key={column}>
              <span class="faint token-column">{column}</span>
              <span class="mono value">{token}</span>
              <button
                type="button"
                class="button quiet small at-end"
                aria-label={`Copy the token of ${column}`}
                onClick={() => void copyText(token, 'Token')}
              >
                Copy
              </button>
            </div>
          ))}
        </div>
      )}
    </section>
  )
}
