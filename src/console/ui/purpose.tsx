/** The purpose of a call, as it is asked for: suggestions, and a text of their own. */

const SUGGESTIONS = ['Customer asked', 'Payment failed', 'Legal request', 'Fixing an error'] as const
const MIN_LENGTH = 4
const MAX_LENGTH = 128

/** True for a purpose that the vault accepts. */
export function isPurpose(text: string): boolean {
  const { length } = text.trim()
  return length >= MIN_LENGTH && length <= MAX_LENGTH
}

/** Asks for it. */
export function PurposeField({ value, onChange }: { readonly value: string; onChange(value: string): void }) {
  return (
    <div class="field">
      <span id="purpose">Why do you need it?</span>
      <div class="chips">
        {SUGGESTIONS.map((text) => (
          <button type="button" class="choice" aria-pressed={value === text} onClick={() => onChange(text)} key={text}>
            {text}
          </button>
        ))}
      </div>
      <input
        class="input"
        aria-labelledby="purpose"
        autofocus
        autocomplete="off"
        maxLength={MAX_LENGTH}
        value={value}
        placeholder="Case 4711, caller verified"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  )
}
