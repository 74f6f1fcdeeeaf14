/** Reads the customers and employees of the Chinook sample database in the shape of the quickstart's schema. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const customerShape = z.object({
  first_name: z.string(),
  last_name: z.string(),
  email: z.string(),
  phone: z.string().nullable(),
  address: z.string(),
  city: z.string(),
  country: z.string(),
})

const employeeShape = z.object({ first_name: z.string(), last_name: z.string(), email: z.string(), birth_date: z.string() })

/** Returns fictional people with realistic names, addresses and phone numbers. */
export function readChinook() {
  const customers = z.array(customerShape).parse(readJson('customers.json'))
  const employees = z.array(employeeShape).parse(readJson('employees.json'))
  return {
    customers: customers.map((one) => ({
      name: `${one.first_name} ${one.last_name}`,
      email: one.email,
      phone: one.phone,
      address: `${one.address}, ${one.city}`,
      country: one.country,
    })),
    employees: employees.map((one) => ({
      name: `${one.first_name} ${one.last_name}`,
      email: one.email,
      born: one.birth_date.slice(0, 10),
    })),
  }
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`data/${name}`, import.meta.url), 'utf8'))
}
