/** The look-up box: a column, and a whole value of it. */
import { useEffect, useState } from 'preact/hooks'
import type { ColumnDescription } from '../../app/contract.ts'
import { Icon } from '../../ui/icon.tsx'
import type { LookUp } from './table-view.ts'

/** Returns the columns that the caller can look up records by. */
export function lookUpColumns(columns: readonly ColumnDescription[]): readonly ColumnDescription[] {
  return columns.filter(({ lookup, search }) => lookup && search !== 'DENIED')
}

/** Draws it. Escape clears it and leaves. */
export function LookUpBox({
  columns,
  current,
  onLookUp,
}: {
  readonly columns: readonly ColumnDescription[]
  readonly current: LookUp | undefined
  onLookUp(lookUp: LookUp | undefined): void
}) {
  const [column, setColumn] = useState(current?.column ?? columns[0]?.name ?? '')
  const [text, setText] = useState(current?.text ?? '')
  useEffect(() => {
    if (current === undefined) setText('')
  }, [current])
  const clear = (): void => {
    setText('')
    if (current !== undefined) onLookUp(undefined)
  }
  return (
    <search>
      <form
        class="look-up"
        onSubmit={(event) => {
          event.preventDefault()
          if (text !== '') onLookUp({ column, text })
          else clear()
        }}
      >
        <select aria-label="Column to look up" value={column} onChange={({ currentTarget }) => setColumn(currentTarget.value)}>
          {columns.map(({ name }) => (
            <option value={name} key={name}>
              {name}
            </option>
          ))}
        </select>
        <input
          data-lookup
          aria-label={`Whole value of ${column}`}
          placeholder="Whole value"
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            clear()
            document.querySelector<HTMLElement>('[data-start]')?.focus()
          }}
        />
        {current === undefined ? null : (
          <button type="button" class="button quiet only-icon" aria-label="Show all records" onClick={clear}>
            <Icon of="close" />
          </button>
        )}
      </form>
    </search>
  )
}
