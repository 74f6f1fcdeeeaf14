/** Makes an API key, and shows its text once. */
import { useState } from 'preact/hooks'
import { currentSession } from '../../app/session.ts'
import { copyText } from '../../ui/copy.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { FormFailure, useSubmit } from '../../ui/submit.tsx'
import { makeApiKey } from './api-key.ts'

const BUILT_IN = ['VAULT_OWNER', 'VAULT_EDITOR', 'VAULT_VIEWER']

/** Draws the dialog. The text of the key ends with it. */
export function NewKeyDialog({ onMade, onClose }: { onMade(): void; onClose(): void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState('')
  const [expires, setExpires] = useState('')
  const [apiKey, setApiKey] = useState('')
  const named = roles.split(/[\s,]+/).filter((role) => role !== '')
  const { submit, isReady, failed } = useSubmit(name.trim() !== '' && named.length > 0, async () => {
    const expiresAt = expires === '' ? {} : { expiresAt: Date.parse(expires) }
    setApiKey(await makeApiKey({ name: name.trim(), roles: named, ...expiresAt }))
    onMade()
  })
  return (
    <Dialog label="New API key" onClose={onClose}>
      {apiKey === '' ? (
        <form class="dialog confirm" onSubmit={submit}>
          <h2>New API key</h2>
          <label class="field">
            <span>Name</span>
            <input
              class="input"
              autofocus
              autocomplete="off"
              maxLength={320}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>Roles, with commas between</span>
            <input
              class="input"
              autocomplete="off"
              spellcheck={false}
              list="roles-of-keys"
              value={roles}
              onInput={({ currentTarget }) => setRoles(currentTarget.value)}
            />
          </label>
          <datalist id="roles-of-keys">
            {[...new Set([...currentSession().caller.roles, ...BUILT_IN])].map((role) => (
              <option value={role} key={role} />
            ))}
          </datalist>
          <label class="field">
            <span>Expires; empty for never</span>
            <input class="input" type="date" value={expires} onInput={({ currentTarget }) => setExpires(currentTarget.value)} />
          </label>
          <FormFailure failed={failed}>
            <p class="faint">A role that the policy does not have grants nothing.</p>
          </FormFailure>
          <div class="actions">
            <button type="button" class="button quiet" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="button primary" disabled={!isReady}>
              Make key
            </button>
          </div>
        </form>
      ) : (
        <div class="dialog confirm">
          <h2>Copy this key now</h2>
          <p>The vault keeps its digest alone, so it cannot be shown again.</p>
          <output class="made-key mono">{apiKey}</output>
          <div class="actions">
            <button type="button" class="button" onClick={() => void copyText(apiKey, 'Key')}>
              Copy
            </button>
            <button type="button" class="button primary" autofocus onClick={onClose}>
              Done
            </button>
          </div>
        </div>
      )}
    </Dialog>
  )
}
