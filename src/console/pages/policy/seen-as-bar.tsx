/** The indigo bar: as which role, with which context, and what of. */
import type { JsonValue } from '../../../index.ts'
import type { TableDescription } from '../../app/contract.ts'
import { Icon } from '../../ui/icon.tsx'

/** As whom the caller looks, and at what. */
export interface Chosen {
  readonly role: string
  /** Texts by the names that conditions read. */
  readonly context: Readonly<Record<string, string>>
  readonly table: string
  /** True for the most that each caller can ask for; else each column's own level. */
  readonly isAtMost: boolean
}

/** What can be chosen. */
export interface SeenAsBarProps {
  readonly roles: readonly string[]
  readonly names: readonly string[]
  readonly tables: readonly TableDescription[]
  readonly chosen: Chosen
  onChoose(chosen: Chosen): void
}

/** Draws the bar. A field of the context keeps its own text, which counts when it is left, or by Enter: each look is an event. */
export function SeenAsBar({ roles, names, tables, chosen, onChoose }: SeenAsBarProps) {
  return (
    <section class="seen-bar" aria-label="Seen as">
      <Icon of="eye" />
      <Select label="Seen as" of={roles} value={chosen.role} onChange={(role) => onChoose({ ...chosen, role })} />
      {names.map((name) => (
        <label key={name}>
          ctx.{name}
          <input
            class="input mono"
            autocomplete="off"
            title='Text, a number, true or false. "12" in quotes is text.'
            onChange={({ currentTarget: { value } }) => onChoose({ ...chosen, context: { ...chosen.context, [name]: value } })}
          />
        </label>
      ))}
      <Select
        label="table"
        of={tables.map(({ name }) => name)}
        value={chosen.table}
        onChange={(table) => onChoose({ ...chosen, table })}
      />
      <label class="at-most">
        <input
          type="checkbox"
          checked={chosen.isAtMost}
          onChange={({ currentTarget: { checked } }) => onChoose({ ...chosen, isAtMost: checked })}
        />
        the most they can ask for
      </label>
      <span>Read only. Recorded under your name.</span>
    </section>
  )
}

interface SelectProps {
  readonly label: string
  readonly of: readonly string[]
  readonly value: string
  onChange(value: string): void
}

function Select({ label, of, value, onChange }: SelectProps) {
  return (
    <label>
      {label}
      <select class="input" value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {of.map((one) => (
          <option value={one} key={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Returns a context as policies read it: of texts that are left blank, nothing. */
export function contextOf(texts: Readonly<Record<string, string>>): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, jsonOf(text.trim())]])),
  )
}

/** Text, a number, true or false, as JSON has them; anything else is text as it was typed. */
function jsonOf(text: string): JsonValue {
  return /^(?:true|false|-?\d+(?:\.\d+)?|".*")$/.test(text) ? parsed(text) : text
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}
