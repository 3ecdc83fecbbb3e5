"""What the recorded workplace requests of NeMo Gym ask for, as tool calls; their rows do not say it in this form."""

TRUTHS = {
    "Create a bar chart of total visits since November 30": [
        (
            "analytics_create_plot",
            {"time_min": "2023-11-30", "time_max": "2023-11-29", "value_to_plot": "total_visits", "plot_type": "bar"},
        ),
    ],
    "We need to move all customers that haven't responded to a proposal for the consulting product in 3 weeks to lost. "
    "Can you update the CRM?": [],
    "Delete Casey Wilson from the crm": [
        ("customer_relationship_manager_delete_customer", {"customer_id": "00000014"}),
    ],
    "Add Dakota Thomas as a new lead in the crm and assign them to Nadia": [
        (
            "customer_relationship_manager_add_customer",
            {"customer_name": "Dakota Thomas", "assigned_to_email": "nadia.moreau@atlas.com", "status": "Lead"},
        ),
    ],
    "Delete my last email from kofi": [("email_delete_email", {"email_id": "00000259"})],
}
