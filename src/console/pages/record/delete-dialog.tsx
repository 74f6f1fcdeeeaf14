/** Asks whether a record is to be deleted, and deletes it. */
import { useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { messageOf } from '../../ui/failure.tsx'
import type { OneRecord } from './one-record.ts'

/** What the dialog is made of. */
export interface DeleteDialogProps {
  readonly table: string
  readonly record: OneRecord
  onDeleted(): void
  onClose(): void
}

/** Draws it. A record that was written meanwhile is not deleted. */
export function DeleteDialog({ table, record: { id, version }, onDeleted, onClose }: DeleteDialogProps) {
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState('')
  const remove = async (): Promise<void> => {
    setBusy(true)
    try {
      await perform('deleteOne', { table, id, options: version === undefined ? {} : { ifVersion: version } })
      onDeleted()
    } catch (error) {
      setFailed(messageOf(error))
      setBusy(false)
    }
  }
  return (
    <Dialog label="Delete this record" onClose={onClose}>
      <div class="dialog delete-dialog">
        <h2>Delete this record</h2>
        <p>
          All its fields, tokens and files are deleted: <span class="mono">{id}</span> of {table}. The audit trail keeps what
          happened to it.
        </p>
        {failed === '' ? null : (
          <p class="note bad" role="alert">
            {failed}
          </p>
        )}
        <div class="actions">
          <button type="button" class="button quiet" autofocus onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="button danger" disabled={isBusy} onClick={() => void remove()}>
            Delete record
          </button>
        </div>
      </div>
    </Dialog>
  )
}
