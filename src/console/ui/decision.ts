/** Which statement decides how a column is shown, in words. */
import type { ColumnDescription, Statement } from '../app/contract.ts'
import { canReveal, LEVEL_WORDS, levelOf } from './cell.ts'

/** Returns the statements that decide: those that deny, or else those that grant. */
export function decidingStatements({ read }: ColumnDescription): readonly Statement[] {
  const applying = read.statements.filter(({ applies }) => applies !== 'NEVER')
  const denying = applying.filter(({ effect }) => effect === 'DENY')
  return denying.some(({ applies }) => applies === 'ALWAYS') ? denying : applying
}

/** Returns the name of a statement, as `support #1`. */
export function statementName({ role, position }: Statement): string {
  return `${role} #${position}`
}

/** Returns how a column is shown and why, in one line: `phone is masked by support #1`. */
export function decisionText(column: ColumnDescription): string {
  const deciding = decidingStatements(column)
  const texts = deciding.map((one) => (one.text === undefined ? statementName(one) : `${statementName(one)}: ${one.text}`))
  const level = `${column.name} is ${LEVEL_WORDS[levelOf(column)]}${canReveal(column) ? ' until it is revealed' : ''}`
  return deciding.length === 0 ? `${level}: no statement of your roles names it` : `${level}\n${texts.join('\n')}`
}
