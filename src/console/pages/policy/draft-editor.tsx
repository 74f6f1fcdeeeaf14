/** The editor of a draft: the statements of one role as text. It is checked when it is asked for; an error puts the cursor at its place. */
import { useRef, useState } from 'preact/hooks'
import { perform } from '../../app/api.ts'
import { messageOf } from '../../ui/failure.tsx'
import { Changes } from './changes.tsx'
import type { CheckedDraft, Draft, DraftError, PolicyText } from './contract.ts'
import { type DraftTexts, draftTexts, placeOf, statementsOf, textOfRole } from './draft.ts'

/** A draft that was checked and has no errors, and what it changes. */
export interface CheckedTexts extends Pick<CheckedDraft, 'changes'> {
  readonly roles: Draft
}

/** What is edited. */
export interface DraftEditorProps {
  readonly policy: PolicyText
  readonly texts: DraftTexts
  readonly role: string
  readonly checked: CheckedTexts | undefined
  onRole(role: string): void
  onChecked(checked: CheckedTexts | undefined): void
}

/** Draws the editor of a role, its errors, and what the draft changes. */
export function DraftEditor({ policy, texts, role, checked, onRole, onChecked }: DraftEditorProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const [errors, setErrors] = useState<readonly DraftError[]>([])
  const [isBusy, setBusy] = useState(false)
  const isBuiltIn = policy.builtIn.includes(role)
  const goTo = (error: DraftError): void => {
    if (error.role !== undefined && error.role !== role) {
      onRole(error.role)
      return
    }
    const { at } = placeOf(texts[role] ?? '', error)
    area.current?.focus()
    area.current?.setSelectionRange(at, at + 1)
  }
  const check = async (): Promise<void> => {
    const roles: Draft = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, statementsOf(text)]))
    setBusy(true)
    try {
      const { errors: found, changes } = await perform('checkPolicy', { roles })
      // What was written meanwhile is not what was checked.
      if (draftTexts.get() === texts) {
        setErrors(found)
        onChecked(found.length === 0 ? { roles, changes } : undefined)
        if (found[0] !== undefined) goTo(found[0])
      }
    } catch (error) {
      setErrors([{ message: messageOf(error) }])
    }
    setBusy(false)
  }
  const edit = (text: string): void => {
    draftTexts.set({ ...texts, [role]: text })
    setErrors([])
    onChecked(undefined)
  }
  return (
    <section class="section draft" aria-label="Draft">
      <div class="draft-head">
        <h2>Draft of {role}</h2>
        <NewRole onAdd={(name) => onRole(name)} />
      </div>
      {isBuiltIn ? (
        <p class="faint">{role} is built in. Choose another role, or add one.</p>
      ) : (
        <textarea
          ref={area}
          class="input mono"
          aria-label={`Statements of ${role}`}
          aria-invalid={errors.length > 0}
          aria-describedby="draft-errors"
          spellcheck={false}
          rows={6}
          value={textOfRole(policy, texts, role)}
          onInput={({ currentTarget }) => edit(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void check()
          }}
        />
      )}
      <div role="alert">
        <ul id="draft-errors" class="draft-errors">
          {errors.map((error) => (
            <li key={JSON.stringify(error)}>
              <button type="button" class="link" onClick={() => goTo(error)}>
                {whereOf(error, texts)}
              </button>{' '}
              {error.message}
            </li>
          ))}
        </ul>
      </div>
      <div class="actions">
        <span class="faint">A draft governs nothing. It is gone when you sign out.</span>
        <button
          type="button"
          class="button primary"
          disabled={isBusy || Object.keys(texts).length === 0}
          onClick={() => void check()}
        >
          {isBusy ? 'Checking…' : 'Check draft'}
        </button>
      </div>
      {checked === undefined ? null : <Changes of={checked.changes} />}
    </section>
  )
}

function whereOf(error: DraftError, texts: DraftTexts): string {
  if (error.role === undefined) return 'Draft'
  if (error.position === undefined) return error.role
  return `${error.role}, line ${placeOf(texts[error.role] ?? '', error).line}`
}

/** Adds a role that the policy does not have. */
function NewRole({ onAdd }: { onAdd(name: string): void }) {
  const [name, setName] = useState('')
  const add = (event: Event): void => {
    event.preventDefault()
    if (name.trim() === '') return
    draftTexts.set({ ...draftTexts.get(), [name.trim()]: '' })
    onAdd(name.trim())
    setName('')
  }
  return (
    <form class="new-role" onSubmit={add}>
      <input
        class="input"
        aria-label="Name of a new role"
        placeholder="new role"
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <button type="submit" class="button">
        Add role
      </button>
    </form>
  )
}
