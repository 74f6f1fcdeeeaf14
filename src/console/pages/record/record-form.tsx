/** The form in which a record is edited or inserted. Only what was written is sent: what is masked stays as it is. */
import { useState } from 'preact/hooks'
import { ApiError, perform } from '../../app/api.ts'
import type { ColumnDescription, TableDescription, UntypedRecord } from '../../app/contract.ts'
import { cellOf } from '../../ui/cell.ts'
import { Failure } from '../../ui/failure.tsx'
import { type Draft, errorsByColumn, type FieldErrors, valuesOf } from './draft.ts'
import { FieldInput } from './field-input.tsx'

/** What the form is made of. */
export interface RecordFormProps {
  readonly table: TableDescription
  /** The record to edit; undefined to insert one. */
  readonly record?: UntypedRecord
  /** Called with the id of the record that was written. */
  onWritten(id: string): void
  /** Called with true if the vault refused something: the record may have changed. */
  onCancel(isRefused: boolean): void
}

/** Draws it. */
export function RecordForm({ table, record, onWritten, onCancel }: RecordFormProps) {
  const [draft, setDraft] = useState<Draft>({})
  const [errors, setErrors] = useState<FieldErrors>({})
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const columns = table.columns.filter((column) => isWritable(column, record === undefined))
  const isNothing = record !== undefined && Object.keys(draft).length === 0

  const write = (name: string, written: string | null | undefined): void => {
    const { [name]: _, ...rest } = draft
    setDraft(written === undefined ? rest : { ...rest, [name]: written })
    const { [name]: __, ...others } = errors
    setErrors(others)
  }

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy || isNothing) return
    const values = valuesOf(columns, draft)
    setFailure(undefined)
    if ('errors' in values) return showErrors(values.errors)
    setBusy(true)
    try {
      onWritten(await send(table.name, record, values.fields))
    } catch (error) {
      setBusy(false)
      const byColumn = error instanceof ApiError ? errorsByColumn(error, columns) : undefined
      if (byColumn === undefined) setFailure(error)
      else showErrors(byColumn)
    }
  }

  function showErrors(next: FieldErrors): void {
    setErrors(next)
    const [first] = columns.filter(({ name }) => Object.hasOwn(next, name))
    if (first !== undefined) document.getElementById(`field-${first.name}`)?.focus()
  }

  return (
    <form
      class="record-form"
      onSubmit={submit}
      onKeyDown={({ key, isComposing }) => {
        // What was written is dropped by the button only.
        if (key === 'Escape' && !isComposing && Object.keys(draft).length === 0) onCancel(failure !== undefined)
      }}
    >
      {failure === undefined ? null : <Failure error={failure} />}
      <div class="record">
        {columns.map((column) => (
          <div key={column.name}>
            <label for={`field-${column.name}`}>
              {column.name}
              <span class="faint">
                {' '}
                {column.type.toLowerCase()}
                {column.required && record === undefined ? ', required' : ''}
              </span>
            </label>
            <FieldInput
              column={column}
              cell={record === undefined ? undefined : cellOf(record, column.name)}
              written={Object.hasOwn(draft, column.name) ? draft[column.name] : undefined}
              error={Object.hasOwn(errors, column.name) ? errors[column.name] : undefined}
              onWrite={(written) => write(column.name, written)}
            />
          </div>
        ))}
      </div>
      <div class="actions">
        <button type="button" class="button quiet" onClick={() => onCancel(failure !== undefined)}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={isBusy || isNothing}>
          {record === undefined ? 'Insert record' : 'Save changes'}
        </button>
      </div>
    </form>
  )
}

/** A file is uploaded, not written. */
function isWritable({ type, create, update }: ColumnDescription, isNew: boolean): boolean {
  return type !== 'FILE' && (isNew ? create : update) !== 'DENIED'
}

/** Writes the record, and returns its id. An update of a record that was written meanwhile is refused. */
async function send(table: string, record: UntypedRecord | undefined, fields: object): Promise<string> {
  if (record === undefined) {
    const { records } = await perform('insert', { table, records: [{ fields }] })
    return records[0]?.id ?? ''
  }
  const options = record.version === undefined ? {} : { ifVersion: record.version }
  await perform('updateOne', { table, id: record.id, fields, options })
  return record.id
}
