/** The list of keys. */
import { Fragment } from 'preact'
import { Dialog } from '../ui/dialog.tsx'
import { Keys } from '../ui/keys.tsx'
import type { CallerDescription } from './contract.ts'
import { shownPages } from './pages.ts'

const GRID = [
  ['↑ ↓ ← →', 'Move between cells'],
  ['Home End', 'First and last column; with Ctrl first and last loaded record'],
  ['PageUp PageDown', 'A screen of records'],
  ['↵', 'Open the record'],
  ['R', 'Reveal the cell, with a purpose'],
  ['W', 'Why the cell looks like this'],
  ['C', 'Copy the cell, if it is plain'],
  ['Esc', 'Hide everything that was revealed'],
] as const

/** Lists the keys that the caller can use. */
export function KeyList({ caller, onClose }: { readonly caller: CallerDescription; onClose(): void }) {
  const rows: readonly (readonly [string, string])[] = [
    ['Ctrl K', 'Go to a table, page or action'],
    ['/', 'Look up a record'],
    ...shownPages(caller).map(({ key, name }) => [`G ${key.toUpperCase()}`, name] as const),
    ...GRID,
    ['Ctrl ↵', 'Run the query'],
  ]
  return (
    <Dialog label="Keys" onClose={onClose}>
      <div class="dialog">
        <h2>Keys</h2>
        <dl class="key-list">
          {rows.map(([keys, does]) => (
            <Fragment key={keys}>
              <dt>
                <Keys of={keys} />
              </dt>
              <dd>{does}</dd>
            </Fragment>
          ))}
        </dl>
        <div class="actions">
          <button type="button" class="button" autofocus onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  )
}
