# SPDX-License-Identifier: Apache-2.0
"""Requests about customers."""

from datetime import timedelta

from ..actions import PRODUCTS, STATUSES
from .desk import Skip, listed, template


def update_customer(desk, customer: dict, field: str, value: str) -> None:
    """Change a field of a customer."""
    desk.do(
        "customer_relationship_manager_update_customer",
        customer_id=customer["customer_id"],
        field=field,
        new_value=value,
    )


def one_customer(desk) -> dict:
    """Some customer, looked up by name."""
    return desk.customers(customer_name=desk.row("customers")["customer_name"])[0]


@template(
    "customer_relationship_manager",
    "easy",
    "Update the status of {name} to {status} in the crm.",
    "{name} is {status} now. Please change the status in the crm.",
    "Set {name}'s status in the crm to {status}.",
)
def customer_status(desk):
    customer = one_customer(desk)
    status = desk.one(*(one for one in STATUSES if one != customer["status"]))
    update_customer(desk, customer, "status", status)
    return {"name": customer["customer_name"], "status": status.lower()}, f"The status is {status} now."


@template(
    "customer_relationship_manager",
    "easy",
    "Add {name} as a new lead in the crm and assign them to {who}.",
    "We have a new lead, {name}. Please create them in the crm for {who}.",
    "Put {name} into the crm: status lead, looked after by {who}.",
)
def customer_add(desk):
    who, name = desk.person("customers"), new_name(desk)
    desk.do(
        "customer_relationship_manager_add_customer",
        customer_name=name,
        assigned_to_email=desk.address(who),
        status="Lead",
    )
    return {"name": name, "who": who.name}, f"{name} is in the crm."


@template(
    "customer_relationship_manager",
    "easy",
    "Delete {name} from the crm.",
    "{name} is no customer of ours any more. Remove them from the crm.",
    "Please take {name} out of the crm.",
)
def customer_delete(desk):
    customer = one_customer(desk)
    desk.do("customer_relationship_manager_delete_customer", customer_id=customer["customer_id"])
    return {"name": customer["customer_name"]}, "The customer is deleted."


@template(
    "customer_relationship_manager",
    "easy",
    "Reassign {name} to {who} in the crm.",
    "{who} looks after {name} from now on. Please change that in the crm.",
    "Make {who} responsible for the customer {name}.",
)
def customer_reassign(desk):
    customer, who = one_customer(desk), desk.person("customers")
    if customer["assigned_to_email"] == who.address:
        raise Skip
    update_customer(desk, customer, "assigned_to_email", desk.address(who))
    return {"name": customer["customer_name"], "who": who.name}, f"{who.name} looks after them now."


@template(
    "customer_relationship_manager",
    "easy",
    "Set the follow-up date of {name} to {day}.",
    "We should follow up with {name} by {day}. Please change that in the crm.",
    "Change the customer {name}: follow up by {day}.",
)
def customer_follow_up(desk):
    customer, day = one_customer(desk), desk.workday(3, 60)
    update_customer(desk, customer, "follow_up_by", str(day))
    return {"name": customer["customer_name"], "day": desk.said(day)}, "The follow-up date is set."


@template(
    "customer_relationship_manager",
    "easy",
    "{name} is interested in {product} now. Update the crm.",
    "Change the product interest of {name} to {product}.",
    "Please note in the crm that the product interest of {name} is {product}.",
)
def customer_product(desk):
    customer = one_customer(desk)
    product = desk.one(*(one for one in PRODUCTS if one != customer["product_interest"]))
    update_customer(desk, customer, "product_interest", product)
    return {"name": customer["customer_name"], "product": product.lower()}, "The product interest is changed."


@template(
    "customer_relationship_manager",
    "easy",
    "Add {name} to the crm as {status}, interested in {product}, assigned to {who}.",
    "Create a customer {name} for {who} in the crm with the status {status} and the product interest {product}.",
    "New customer: {name}, status {status}, wants {product}; {who} looks after them. Please add them to the crm.",
    held_out=True,
)
def customer_add_full(desk):
    who, name = desk.person("customers"), new_name(desk)
    status, product = desk.one(*STATUSES), desk.one(*PRODUCTS)
    desk.do(
        "customer_relationship_manager_add_customer",
        customer_name=name,
        assigned_to_email=desk.address(who),
        status=status,
        product_interest=product,
    )
    values = {"name": name, "who": who.name, "status": status.lower(), "product": product.lower()}
    return values, f"{name} is in the crm."


@template(
    "customer_relationship_manager",
    "medium",
    "{other} takes over all of {who}'s customers that are {status} and interested in {product}. Reassign them in the"
    " crm.",
    "Give every {status} customer of {who} with the product interest {product} to {other}.",
    "In the crm, assign {who}'s customers with status {status} and interest in {product} to {other}.",
)
def customer_take_over(desk):
    who, other = desk.people(2, "customers")
    status, product = desk.one(*STATUSES), desk.one(*PRODUCTS)
    found = desk.customers(assigned_to_email=desk.address(who), status=status, product_interest=product)
    if not 1 <= len(found) <= 5:
        raise Skip
    address = desk.address(other)
    for customer in found:
        update_customer(desk, customer, "assigned_to_email", address)
    values = {"who": who.name, "other": other.name, "status": status.lower(), "product": product.lower()}
    return values, f"{other.name} has {len(found)} more customers."


@template(
    "customer_relationship_manager",
    "medium",
    "Delete all of {who}'s {status} customers that are interested in {product} from the crm.",
    "We no longer need {who}'s customers with status {status} and interest in {product}. Delete them from the crm.",
    "Clean up the crm: {who}'s customers who want {product} and are {status} can go.",
)
def customer_delete_all(desk):
    who, status, product = desk.person("customers"), desk.one("Lost", "Lead", "Won"), desk.one(*PRODUCTS)
    found = desk.customers(assigned_to_email=desk.address(who), status=status, product_interest=product)
    desk.about = who.name
    if len(found) > 5:
        raise Skip
    for customer in found:
        desk.do("customer_relationship_manager_delete_customer", customer_id=customer["customer_id"])
    return {"who": who.name, "status": status.lower(), "product": product.lower()}, f"I deleted {len(found)} customers."


@template(
    "customer_relationship_manager",
    "medium",
    "Move all {product} customers in the proposal stage that we last contacted on {day} or earlier to lost in the crm.",
    "Proposals for {product} where the last contact was on or before {day} are lost. Update the crm.",
    "Set the status to lost for each customer in the proposal stage with interest in {product} and a last contact date"
    " up to {day}.",
)
def customer_stale(desk):
    product, day = desk.one(*PRODUCTS), desk.days_ago(desk.one(28, 35, 42, 49, 56))
    found = desk.customers(product_interest=product, status="Proposal", last_contact_date_max=day)
    desk.about = product
    if len(found) > 6:
        raise Skip
    for customer in found:
        update_customer(desk, customer, "status", "Lost")
    return {"product": product.lower(), "day": desk.said(day)}, f"I moved {len(found)} customers to lost."


@template(
    "customer_relationship_manager",
    "medium",
    "Set the status of {names} to {status} in the crm.",
    "{names} are all {status} now. Please update the crm.",
    "Change each of these customers to {status}: {names}.",
)
def customer_status_several(desk):
    status = desk.one(*STATUSES)
    found = [one_customer(desk) for _ in range(desk.rng.randrange(3, 6))]
    names = [customer["customer_name"] for customer in found]
    if len(set(names)) < len(names) or any(customer["status"] == status for customer in found):
        raise Skip
    for customer in found:
        update_customer(desk, customer, "status", status)
    return {"names": listed(names), "status": status.lower()}, f"I updated {len(found)} customers."


@template(
    "customer_relationship_manager",
    "medium",
    "If {name} is still {status}, set their follow-up date to {day}.",
    "Check the status of {name} in the crm. If it is {status}, follow up by {day}; otherwise change nothing.",
    "Only if {name} has the status {status}, change their follow-up date to {day}.",
)
def customer_if_status(desk):
    customer, day = one_customer(desk), desk.workday(3, 60)
    status = customer["status"] if desk.rng.random() < 0.6 else desk.one(*STATUSES)
    desk.about = customer["customer_name"]
    values = {"name": customer["customer_name"], "status": status.lower(), "day": desk.said(day)}
    if customer["status"] != status:
        return values, f"The status is {customer['status']}, so I changed nothing."
    update_customer(desk, customer, "follow_up_by", str(day))
    return values, "The follow-up date is set."


@template(
    "customer_relationship_manager",
    "hard",
    "Set the follow-up date of all of {who}'s {status} customers whose follow-up date has passed to {day}.",
    "{who} missed some follow-ups: {status} customers of theirs with a follow-up date before today get the new date"
    " {day}.",
    "In the crm, change the follow-up date to {day} for each {status} customer of {who} where it lies before today.",
    held_out=True,
)
def customer_missed(desk):
    who, status, day = desk.person("customers"), desk.one(*STATUSES), desk.workday(2, 20)
    found = desk.customers(
        assigned_to_email=desk.address(who), status=status, follow_up_by_max=str(desk.today - timedelta(1))
    )
    desk.about = who.name
    if len(found) > 6:
        raise Skip
    for customer in found:
        update_customer(desk, customer, "follow_up_by", str(day))
    return {"who": who.name, "status": status.lower(), "day": desk.said(day)}, f"I set {len(found)} follow-up dates."


@template(
    "customer_relationship_manager",
    "hard",
    "Give {name} to whoever of {who} and {other} has fewer {status} customers. In case of a tie it is {who}.",
    "Count the {status} customers of {who} and of {other}. The one with fewer looks after {name} from now on, {who} if"
    " they have equally many.",
    "{name} needs somebody new: {other} if they have fewer {status} customers than {who}, otherwise {who}."
    " Reassign them in the crm.",
)
def customer_less_busy(desk):
    (who, other), customer, status = desk.people(2, "customers"), one_customer(desk), desk.one(*STATUSES)
    addresses = [desk.address(who), desk.address(other)]
    counts = [len(desk.customers(assigned_to_email=address, status=status)) for address in addresses]
    to = other if counts[1] < counts[0] else who
    if customer["assigned_to_email"] in (who.address, other.address):
        raise Skip
    update_customer(desk, customer, "assigned_to_email", to.address)
    values = {"name": customer["customer_name"], "who": who.name, "other": other.name, "status": status.lower()}
    return values, f"{to.name} looks after them now."


@template(
    "customer_relationship_manager",
    "medium",
    "Mark every {product} lead of {who} as qualified, and follow up with each by {day}.",
    "{who}'s leads for {product} are all qualified now. Change the status, and set the follow-up date of each to"
    " {day}.",
    "For each lead of {who} who is interested in {product}: status qualified, follow-up by {day}.",
    held_out=True,
)
def customer_qualify(desk):
    who, product, day = desk.person("customers"), desk.one(*PRODUCTS), desk.workday(3, 40)
    found = desk.customers(assigned_to_email=desk.address(who), status="Lead", product_interest=product)
    if not 1 <= len(found) <= 3:
        raise Skip
    for customer in found:
        update_customer(desk, customer, "status", "Qualified")
        update_customer(desk, customer, "follow_up_by", str(day))
    values = {"who": who.name, "product": product.lower(), "day": desk.said(day)}
    return values, f"{len(found)} leads are qualified now."


def new_name(desk) -> str:
    """Somebody who is no customer yet."""
    first = desk.one("Anouk", "Bram", "Cleo", "Dries", "Elin", "Finn", "Gilda", "Henk", "Isa", "Joris")
    return f"{first} {desk.one('Aalto', 'Bakker', 'Conti', 'Dekker', 'Engel', 'Fontana', 'Grimm', 'Holm')}"
