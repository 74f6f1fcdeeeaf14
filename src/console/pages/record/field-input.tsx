/** One field of a record that is edited or inserted: an input of the type of its column. */
import type { TargetedKeyboardEvent } from 'preact'
import type { ColumnDescription } from '../../app/contract.ts'
import { type Cell, textOf } from '../../ui/cell.ts'

/** What a field is made of. */
export interface FieldInputProps {
  readonly column: ColumnDescription
  /** What the caller sees of it; undefined in a new record. */
  readonly cell: Cell | undefined
  /** What the caller wrote: text, null, or nothing yet. */
  readonly written: string | null | undefined
  readonly error: string | undefined
  /** Undefined leaves the field as it is. */
  onWrite(written: string | null | undefined): void
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  DATE: '2026-01-31',
  TIME: '23:59:59',
  DATETIME: '2026-01-31T23:59:59Z',
  JSON: '{ }',
  ARRAY: '[ ]',
}

/** Draws it. What is masked or redacted is empty, and is kept unless something is written. */
export function FieldInput(props: FieldInputProps) {
  const { column, written, error, onWrite } = props
  const { name, required } = column
  const isNull = isNullNow(props)
  return (
    <div class="field-input">
      <Control {...props} isNull={isNull} />
      {required || isNull ? null : (
        <button type="button" class="button quiet small" aria-label={`Set ${name} to null`} onClick={() => onWrite(null)}>
          null
        </button>
      )}
      {written === undefined ? null : (
        <button type="button" class="button quiet small" aria-label={`Reset ${name}`} onClick={() => onWrite(undefined)}>
          Reset
        </button>
      )}
      {error === undefined ? null : (
        <p class="field-error" id={`error-${name}`}>
          {error}
        </p>
      )}
    </div>
  )
}

function isNullNow({ written, cell }: FieldInputProps): boolean {
  return written === null || (written === undefined && cell?.state === 'null')
}

function Control({ column, cell, written, error, onWrite, isNull }: FieldInputProps & { readonly isNull: boolean }) {
  const { name, type, required } = column
  const text = written ?? (written === undefined && cell?.state === 'plain' ? textOf(cell.value) : '')
  const isKept = written === undefined && cell !== undefined && cell.state !== 'plain' && !isNull
  const common = {
    id: `field-${name}`,
    class: isNull ? 'input null' : 'input',
    dir: 'auto' as const,
    'aria-invalid': error !== undefined,
    'aria-describedby': error === undefined ? undefined : `error-${name}`,
    'aria-required': required && cell === undefined,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: isKept ? 'kept as it is' : isNull ? 'null' : (PLACEHOLDERS[type] ?? ''),
  }
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }): void =>
    onWrite(currentTarget.value)
  const choices = type === 'BOOL' ? ['true', 'false'] : column.oneOf
  if (choices !== undefined) {
    return (
      <select {...common} value={text} onChange={onInput}>
        <option value="" disabled>
          {common.placeholder}
        </option>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    )
  }
  // A text can have lines, which an input of one line drops without a word. It grows as it is written.
  if (type === 'STRING')
    return (
      <textarea {...common} class={`${common.class} text`} rows={1} value={text} onInput={onInput} onKeyDown={submitByEnter} />
    )
  if (type === 'JSON' || type === 'ARRAY') return <textarea {...common} rows={4} value={text} onInput={onInput} />
  return <input {...common} inputMode={inputModeOf(type)} value={text} onInput={onInput} />
}

/** Enter writes the record, as in a field of one line; with Shift it begins a line. */
function submitByEnter(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}

function inputModeOf(type: string): 'numeric' | 'decimal' | 'text' {
  return type === 'INTEGER' ? 'numeric' : type === 'FLOAT' || type === 'DECIMAL' ? 'decimal' : 'text'
}
